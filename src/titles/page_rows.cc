#include "titles/page_rows.h"

#include "titles/slug.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice::titles {

namespace {

Error conflict(std::string message) {
    return Error{Code::kConflict, Blame::kCaller, std::move(message), std::nullopt};
}

}  // namespace

std::int64_t to_stored(WallTime time) {
    return std::chrono::floor<Millis>(time.time_since_epoch()).count();
}

WallTime from_stored(std::int64_t milliseconds) {
    return WallTime(Millis(milliseconds));
}

WallTime stored_now(const Clock& clock) {
    return from_stored(to_stored(clock.wall_now()));
}

Result<Lifecycle> stored_lifecycle(std::string_view word) {
    const auto lifecycle = parse_lifecycle(word);
    if (!lifecycle) {
        return Error{Code::kUnavailable, Blame::kGateway,
                     "a row of the pages database is not as this program writes it", std::nullopt};
    }
    return *lifecycle;
}

Error no_such_page() {
    return Error{Code::kNotFound, Blame::kCaller, "there is no such page", std::nullopt};
}

Error id_is_taken(std::int64_t id) {
    return conflict("id: another page has " + std::to_string(id) + " already");
}

Error slug_is_taken(std::string_view slug) {
    return conflict("slug: another page has \"" + std::string(slug) + "\" already");
}

Error too_many_pages() {
    return conflict("there are " + std::to_string(kMaxPages) +
                    " pages, which is as many as are kept; remove some");
}

Error at_place(std::size_t place, Error error) {
    error.message = std::to_string(place + 1) + ": " + error.message;
    return error;
}

PageRecord record_of(const NewPage& page, WallTime now) {
    PageRecord record;
    record.title = page.title;
    record.slug = page.slug;
    record.author = page.author;
    record.lifecycle = page.lifecycle;
    record.is_claimed = page.is_claimed;
    record.has_pin = !page.pin_hash.empty();
    record.version = page.version.value_or(1);
    record.created_at = record.updated_at = now;
    return record;
}

PagePatch patch_of(const NewPage& page) {
    PagePatch patch;
    patch.title = page.title;
    if (!page.slug.empty()) {
        patch.slug = page.slug;
    }
    patch.author = page.author;
    patch.body = page.body;
    patch.lifecycle = page.lifecycle;
    patch.is_claimed = page.is_claimed;
    return patch;
}

Result<PageChange> change_of(const PageRecord& before, std::string_view body,
                             const PagePatch& patch, std::optional<std::int64_t> version,
                             WallTime now) {
    PageChange change;
    PageRecord& after = change.after;
    after = before;
    after.title = patch.title.value_or(before.title);
    after.slug = patch.slug.value_or(before.slug);
    after.author = patch.author.value_or(before.author);
    after.lifecycle = patch.lifecycle.value_or(before.lifecycle);
    after.is_claimed = patch.is_claimed.value_or(before.is_claimed);
    if (!after.is_claimed && !patch.pin_hash.value_or("").empty()) {
        return pin_without_claim();
    }
    change.pin_hash = before.is_claimed && !after.is_claimed ? "" : patch.pin_hash;
    after.has_pin = change.pin_hash ? !change.pin_hash->empty() : before.has_pin;
    change.has_new_body = patch.body && *patch.body != body;
    change.has_new_slug = after.slug != before.slug;
    const bool is_new_version =
        change.has_new_body || after.title != before.title || after.lifecycle != before.lifecycle;
    const std::int64_t least = before.version + (is_new_version ? 1 : 0);
    after.version = std::max(version.value_or(least), least);
    change.differs = is_new_version || change.has_new_slug || after.author != before.author ||
                     after.is_claimed != before.is_claimed || after.version != before.version;
    if (change.differs) {
        after.updated_at = now;
    }
    return change;
}

ListWalk walk_of(const PageQuery& query, std::size_t total) {
    ListWalk walk;
    if (query.offset >= total) {
        return walk;
    }
    walk.limit = std::min({query.limit, kMaxListed, total - query.offset});
    walk.is_backward = query.offset > total / 2;
    walk.offset = walk.is_backward ? total - query.offset - walk.limit : query.offset;
    return walk;
}

std::size_t list_statement_number(const PageQuery& query, bool is_backward) {
    constexpr std::size_t kOrders = 3;
    return static_cast<std::size_t>(query.order) + (is_backward ? kOrders : 0) +
           (query.only_candidates ? 2 * kOrders : 0);
}

std::string SlugSearch::next() const {
    return at_ == 1 ? slug_ : numbered_slug(slug_, at_);
}

// Doubles until a number is free, then halves what is between.
void SlugSearch::answer(bool is_taken) {
    if (is_taken) {
        low_ = at_;
    } else {
        high_ = at_;
    }
    if (high_ == 0) {
        at_ = 2 * low_;
    } else if (high_ - low_ > 1) {
        at_ = low_ + (high_ - low_) / 2;
    } else {
        at_ = high_;
        is_done_ = true;
    }
}

}  // namespace sluice::titles
