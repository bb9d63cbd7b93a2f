// What page stores of every kind have in common: what becomes of a page, and how that is refused.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "titles/page.h"
#include "titles/page_store.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::titles {

// Instants are stored as milliseconds since 1970.
std::int64_t to_stored(WallTime time);
WallTime from_stored(std::int64_t milliseconds);
// As it will be read again.
WallTime stored_now(const Clock& clock);

// kUnavailable for a word that no version of this program writes.
Result<Lifecycle> stored_lifecycle(std::string_view word);

Error no_such_page();
Error id_is_taken(std::int64_t id);
Error slug_is_taken(std::string_view slug);
Error too_many_pages();
// Of one page of a batch, by its place from 0.
Error at_place(std::size_t place, Error error);

// A new page but for its id and, where it is to be made of the title, its slug.
PageRecord record_of(const NewPage& page, WallTime now);

// A page as an import has it takes the place of what was there, but for its PIN.
PagePatch patch_of(const NewPage& page);

struct PageChange {
    PageRecord after;
    bool differs = false;  // anything but the PIN
    bool has_new_body = false;
    bool has_new_slug = false;
    std::optional<std::string> pin_hash = {};  // what becomes of it; nothing: it stays
};
// What `patch` makes of a page whose body is `body` (asked for only where the patch has one).
// The version rises with title, lifecycle and body, and never falls: who knows id and version knows
// the title. `version`: the least that it gets. kInvalidRequest: a
// PIN for what nobody claims afterwards.
Result<PageChange> change_of(const PageRecord& before, std::string_view body,
                             const PagePatch& patch, std::optional<std::int64_t> version,
                             WallTime now);

// How a database gets at a part of a list: from whichever end is nearer, since what is passed over
// is walked. A limit of 0: nothing is there.
struct ListWalk {
    bool is_backward = false;  // in the opposite order; what comes is to be turned round
    std::size_t limit = 0;
    std::size_t offset = 0;
};
ListWalk walk_of(const PageQuery& query, std::size_t total);

// The statements of lists: of all pages and of candidates, in each PageOrder and its opposite.
// `statement(only_candidates, order)` makes one.
inline constexpr std::size_t kListStatements = 12;
template <class Statement>
std::array<std::string, kListStatements> list_statements(const Statement& statement,
                                                         std::string_view by_title,
                                                         std::string_view by_title_backward) {
    const std::array<std::string_view, 6> orders = {
        "updated_at DESC, id DESC", "updated_at, id",           by_title,
        "updated_at, id",           "updated_at DESC, id DESC", by_title_backward};
    std::array<std::string, kListStatements> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = statement(i >= orders.size(), orders[i % orders.size()]);
    }
    return all;
}
std::size_t list_statement_number(const PageQuery& query, bool is_backward);

// Finds a free slug in few steps, however many pages have the same title: the slug itself, else a
// numbered one. Ask of next() whether it is taken and say so, until it is done().
class SlugSearch {
 public:
    explicit SlugSearch(std::string slug) : slug_(std::move(slug)) {}

    bool done() const { return is_done_; }
    // What to ask for; when done, the free one.
    std::string next() const;
    void answer(bool is_taken);

 private:
    std::string slug_;
    std::size_t low_ = 0;   // the highest number that is known to be taken; 1 is the slug itself
    std::size_t high_ = 0;  // a free number; 0: none is known
    std::size_t at_ = 1;
    bool is_done_ = false;
};

}  // namespace sluice::titles
