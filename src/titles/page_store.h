// Where pages are kept. One interface, so that replicas can share a server database; every
// implementation passes tests/unit/titles/page_store_conformance.h.
#pragma once

#include "base/result.h"
#include "base/store_revision.h"
#include "base/task.h"
#include "titles/page.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::titles {

enum class PageOrder : std::uint8_t { kNewest, kOldest, kTitle };
std::string_view to_string(PageOrder order);
std::optional<PageOrder> parse_page_order(std::string_view word);

// Which pages a list shows. The ledger shows what is a candidate; whoever administers sees all.
struct PageQuery {
    bool only_candidates = true;
    PageOrder order = PageOrder::kNewest;  // by updated_at, then id; or by title, then id
    std::size_t offset = 0;
    std::size_t limit = 50;
};

struct PageList {
    std::vector<PageRecord> pages;
    std::size_t total = 0;  // of that kind
};

struct PageText {
    PageRecord record;
    std::string body;  // Markdown
};

// What a batch did.
struct ImportCount {
    std::size_t added = 0;
    std::size_t changed = 0;
    std::size_t same = 0;
};

inline constexpr std::size_t kMaxPagesAtOnce = 1'000;  // in one import()
inline constexpr std::size_t kMaxListed = 1'000;       // in one list()
// Which pages were removed is remembered of so many last changes, for who reads what changed; who
// knows the pages from before the last removal that is forgotten reads all of them again.
inline constexpr std::size_t kRememberedChanges = 10'000;
// At most so many are forgotten with each further removal, so that none takes long where there are
// more, as in a store of before there was a bound.
inline constexpr std::size_t kForgottenRemovals = 1'000;

// Called on any executor; each call resumes on its caller's. Errors beside those named: those of
// the database (io/sqlite.h) and of its queue (kOverloaded).
class PageStore {
 public:
    virtual ~PageStore() = default;

    // kInvalidRequest when a field is out of its limits; kConflict when the id or the slug is
    // another page's already, or at kMaxPages. A slug that is made of the title gets a number where
    // that is taken.
    virtual Task<Result<PageRecord>> add(NewPage page) = 0;

    // All or none, at most kMaxPagesAtOnce. One with the id, or without an id the given slug, of a
    // page that is there replaces it. Errors as add() has them; their message begins with the place
    // in `pages` from 1, "3: title: ...".
    virtual Task<Result<ImportCount>> import(std::vector<NewPage> pages) = 0;

    // The record as it is afterwards. kNotFound, kInvalidRequest (also a PIN for what nobody claims
    // afterwards), kConflict (a slug of another page's).
    virtual Task<Result<PageRecord>> patch(std::int64_t id, PagePatch patch) = 0;

    // kNotFound.
    virtual Task<Status> remove(std::int64_t id) = 0;

    // kNotFound.
    virtual Task<Result<PageRecord>> get(std::int64_t id) = 0;
    virtual Task<Result<PageText>> text(std::int64_t id) = 0;
    virtual Task<Result<PageText>> text(std::string slug) = 0;

    // Empty where it has none. kNotFound.
    virtual Task<Result<std::string>> pin_hash(std::int64_t id) = 0;

    virtual Task<Result<PageList>> list(PageQuery query) = 0;

    // Changes with every change of what candidates() gives, whichever process made it.
    virtual Task<Result<StoreRevision>> revision() = 0;

    // What changed after the revision `since`; every candidate when that is 0, or when the store as
    // it is now never was at it, or was so long ago that pages which were removed since are
    // forgotten. Reads neither bodies nor PIN hashes.
    virtual Task<Result<CandidateSet>> candidates(StoreRevision since) = 0;
};

// Where in `pages` an error of import() is, from 1, and what it says of it; 0 and the whole message
// where it is about no page.
struct PlacedMessage {
    std::size_t place = 0;
    std::string_view text;
};
PlacedMessage placed_message(std::string_view message);

// What every implementation of import() checks first.
Status validate(const std::vector<NewPage>& pages);

}  // namespace sluice::titles
