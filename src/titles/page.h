// Pages as site owners keep them: what is listed, found and shown. A page is found by searches, and
// stands in the ledger, while it is active and nobody claimed it.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/store_revision.h"
#include "titles/candidate.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::titles {

// What a store holds at most, and bounds of one page.
inline constexpr std::size_t kMaxPages = 1'000'000;
// Of ids and versions that are given: half of what every reader of JSON can count to, so that those
// which follow by themselves have as much room again.
inline constexpr std::int64_t kMaxPageNumber = 4'503'599'627'370'495;
inline constexpr std::size_t kMaxTitleCodePoints = 200;
inline constexpr std::size_t kMaxSlugBytes = 200;
inline constexpr std::size_t kMaxAuthorCodePoints = 80;
inline constexpr std::size_t kMaxBodyBytes = std::size_t{1024} * 1024;
inline constexpr std::size_t kMinPinBytes = 4;
inline constexpr std::size_t kMaxPinBytes = 128;

enum class Lifecycle : std::uint8_t {
    kActive,
    kUnlisted,  // shown to whoever knows its address
    kArchived,  // shown to nobody
};
std::string_view to_string(Lifecycle lifecycle);
std::optional<Lifecycle> parse_lifecycle(std::string_view word);

// Everything but the body and the PIN's hash, which few requests need.
struct PageRecord {
    std::int64_t id = 0;  // never used again after the page is gone
    std::string title;    // one line of UTF-8
    std::string slug;     // the last part of its address; one page's alone
    std::string author;   // a label; may be empty
    Lifecycle lifecycle = Lifecycle::kActive;
    bool is_claimed = false;
    bool has_pin = false;      // of a claimed one: whoever knows its PIN may read it
    std::int64_t version = 1;  // rises with the title, the lifecycle and the body
    WallTime created_at{};
    WallTime updated_at{};

    bool is_candidate() const { return lifecycle == Lifecycle::kActive && !is_claimed; }
};

struct NewPage {
    std::optional<std::int64_t> id = {};  // nothing: the next one
    std::string title;
    std::string slug = {};  // empty: made of the title
    std::string author = {};
    std::string body = {};  // Markdown
    Lifecycle lifecycle = Lifecycle::kActive;
    bool is_claimed = false;
    // Hash of a PIN as hash_pin() makes it, of a claimed page; empty: none. An import leaves that
    // of a page that is there as it is.
    std::string pin_hash = {};
    std::optional<std::int64_t> version = {};  // nothing: 1, or for a known page as it follows

    NewPage() = default;  // no aggregate: see the rules in base/task.h
};

// What stays empty stays as it is.
struct PagePatch {
    std::optional<std::string> title = {};
    std::optional<std::string> slug = {};
    std::optional<std::string> author = {};
    std::optional<std::string> body = {};
    std::optional<Lifecycle> lifecycle = {};
    std::optional<bool> is_claimed = {};
    // Hash of a PIN as hash_pin() makes it, of a page that is claimed afterwards; empty takes it
    // away, as releasing the page does.
    std::optional<std::string> pin_hash = {};

    PagePatch() = default;
    bool changes_nothing() const;
};

// What is refused for a PIN of a page that nobody claims.
Error pin_without_claim();

// kInvalidRequest, which names the field and what was expected.
Status validate(const NewPage& page);
Status validate(const PagePatch& patch);

// What changed up to one moment, and the revision of that moment.
struct CandidateSet {
    StoreRevision revision = {};
    bool is_whole = false;                   // `candidates` are all there are; `gone` is empty
    std::vector<Candidate> candidates = {};  // new ones and changed ones
    std::vector<std::int64_t> gone = {};     // ids of pages that are none any more, or never were
};

}  // namespace sluice::titles
