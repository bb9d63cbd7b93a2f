#include "titles/page.h"

#include "base/text.h"
#include "titles/body_bounds.h"
#include "titles/slug.h"
#include "titles/visible.h"

#include <utility>

namespace sluice::titles {

namespace {

Error bad(std::string message) {
    return Error{Code::kInvalidRequest, Blame::kCaller, std::move(message), std::nullopt};
}

Status check_number(std::string_view field, std::optional<std::int64_t> number) {
    if (number && (*number < 1 || *number > kMaxPageNumber)) {
        return bad(std::string(field) + ": expected a whole number from 1 to " +
                   std::to_string(kMaxPageNumber));
    }
    return {};
}

Status check_line(std::string_view field, std::string_view text, std::size_t least,
                  std::size_t most) {
    if (!is_valid_utf8(text) || has_control_characters(text) || has_line_separators(text)) {
        return bad(std::string(field) + ": expected one line of UTF-8");
    }
    const std::size_t length = count_code_points(text);
    if (length < least || length > most) {
        return bad(std::string(field) + ": expected " + std::to_string(least) + " to " +
                   std::to_string(most) + " characters");
    }
    // Nobody could read the link to such a page, or follow it.
    if (!text.empty() && !is_visible(text)) {
        return bad(std::string(field) + ": expected " + std::to_string(least) + " to " +
                   std::to_string(most) + " characters, and at least one that can be seen" +
                   (least == 0 ? ", or none at all" : ""));
    }
    return {};
}

Status check_body(std::string_view body) {
    if (body.size() > kMaxBodyBytes) {
        return bad("body: expected at most " + std::to_string(kMaxBodyBytes) + " bytes");
    }
    if (!is_valid_utf8(body) || body.find('\0') != std::string_view::npos) {
        return bad("body: expected UTF-8 without NUL");
    }
    if (const auto problem = body_problem(body)) {
        const std::string line = "body: line " + std::to_string(problem->line);
        if (problem->excess == BodyExcess::kDepth) {
            return bad(line + " has lists and quotes that are more than " +
                       std::to_string(kMaxBodyDepth) +
                       " deep in each other; indent it less, or put a text between; where they "
                       "are part of a text or of code, begin the line with another character");
        }
        return bad(line +
                   " has one image or link too many for a page whose paragraphs have so many; put "
                   "empty lines between them");
    }
    return {};
}

Status check_slug(std::string_view slug) {
    if (!is_slug(slug)) {
        return bad("slug: expected 1 to " + std::to_string(kMaxSlugBytes) +
                   " bytes of lower-case letters and digits, in parts joined by single hyphens");
    }
    return {};
}

}  // namespace

std::string_view to_string(Lifecycle lifecycle) {
    switch (lifecycle) {
        case Lifecycle::kActive:
            return "active";
        case Lifecycle::kUnlisted:
            return "unlisted";
        case Lifecycle::kArchived:
            return "archived";
    }
    SLUICE_ASSERT(false && "a Lifecycle outside its enumeration");
}

std::optional<Lifecycle> parse_lifecycle(std::string_view word) {
    for (const Lifecycle lifecycle :
         {Lifecycle::kActive, Lifecycle::kUnlisted, Lifecycle::kArchived}) {
        if (to_string(lifecycle) == word) {
            return lifecycle;
        }
    }
    return std::nullopt;
}

bool PagePatch::changes_nothing() const {
    return !title && !slug && !author && !body && !lifecycle && !is_claimed && !pin_hash;
}

Error pin_without_claim() {
    return bad("pin: expected with claimed: true, since only a claimed page has one");
}

Status validate(const NewPage& page) {
    TRY_STATUS(check_number("id", page.id));
    TRY_STATUS(check_number("current_version", page.version));
    TRY_STATUS(check_line("title", page.title, 1, kMaxTitleCodePoints));
    TRY_STATUS(check_line("author", page.author, 0, kMaxAuthorCodePoints));
    if (!page.slug.empty()) {
        TRY_STATUS(check_slug(page.slug));
    }
    if (!page.pin_hash.empty() && !page.is_claimed) {
        return pin_without_claim();
    }
    return check_body(page.body);
}

Status validate(const PagePatch& patch) {
    if (patch.title) {
        TRY_STATUS(check_line("title", *patch.title, 1, kMaxTitleCodePoints));
    }
    if (patch.author) {
        TRY_STATUS(check_line("author", *patch.author, 0, kMaxAuthorCodePoints));
    }
    if (patch.slug) {
        TRY_STATUS(check_slug(*patch.slug));
    }
    if (patch.body) {
        TRY_STATUS(check_body(*patch.body));
    }
    return {};
}

}  // namespace sluice::titles
