#include "surface/rest/page_request.h"

#include "base/text.h"
#include "surface/common/json_fields.h"
#include "surface/common/query_string.h"
#include "surface/common/responses.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace sluice::surface {

namespace {

using titles::Lifecycle;
using titles::NewPage;
using titles::PagePatch;
using titles::PageQuery;

Result<std::string> title_of(const JsonValue& value) {
    return text_of("title", value);
}
Result<std::string> slug_of(const JsonValue& value) {
    return text_of("slug", value);
}
Result<std::string> author_of(const JsonValue& value) {
    return text_of("author", value);
}
Result<std::string> body_of(const JsonValue& value) {
    return text_of("body", value);
}
Result<bool> claimed_of(const JsonValue& value) {
    return boolean_of("claimed", value);
}
Result<std::int64_t> id_of(const JsonValue& value) {
    return number_of("id", value, titles::kMaxPageNumber);
}
Result<std::int64_t> version_of(const JsonValue& value) {
    return number_of("current_version", value, titles::kMaxPageNumber);
}

Result<Lifecycle> lifecycle_of(const JsonValue& value) {
    const auto lifecycle = titles::parse_lifecycle(value.as_string().value_or(""));
    if (!lifecycle) {
        return wrong_field("lifecycle", "active, unlisted or archived");
    }
    return *lifecycle;
}

template <auto Read, auto Member>
Status keep_in_page(PageAddition& addition, const JsonValue& value) {
    return keep<NewPage, Read, Member>(addition.page, value);
}

// null: none.
Result<Secret> pin_of(const JsonValue& value) {
    if (value.is_null()) {
        return Secret();
    }
    Secret pin{std::string(value.as_string().value_or(""))};
    if (pin.reveal().size() < titles::kMinPinBytes || pin.reveal().size() > titles::kMaxPinBytes) {
        return wrong_field("pin", "4 to 128 bytes, or null for none");
    }
    return pin;
}

static_assert(titles::kMinPinBytes == 4 && titles::kMaxPinBytes == 128);

constexpr JsonField<PageAddition> kAdditionFields[] = {
    {"id", keep_in_page<id_of, &NewPage::id>},
    {"title", keep_in_page<title_of, &NewPage::title>},
    {"slug", keep_in_page<slug_of, &NewPage::slug>},
    {"author", keep_in_page<author_of, &NewPage::author>},
    {"body", keep_in_page<body_of, &NewPage::body>},
    {"current_version", keep_in_page<version_of, &NewPage::version>},
    {"lifecycle", keep_in_page<lifecycle_of, &NewPage::lifecycle>},
    {"claimed", keep_in_page<claimed_of, &NewPage::is_claimed>},
    {"pin", keep<PageAddition, pin_of, &PageAddition::pin>},  // the last: see kLineFields
};
constexpr auto kLineFields = std::span(kAdditionFields).first<std::size(kAdditionFields) - 1>();

template <auto Read, auto Member>
Status keep_in_patch(PageChange& change, const JsonValue& value) {
    return keep<PagePatch, Read, Member>(change.patch, value);
}

constexpr JsonField<PageChange> kChangeFields[] = {
    {"title", keep_in_patch<title_of, &PagePatch::title>},
    {"slug", keep_in_patch<slug_of, &PagePatch::slug>},
    {"author", keep_in_patch<author_of, &PagePatch::author>},
    {"body", keep_in_patch<body_of, &PagePatch::body>},
    {"lifecycle", keep_in_patch<lifecycle_of, &PagePatch::lifecycle>},
    {"claimed", keep_in_patch<claimed_of, &PagePatch::is_claimed>},
    {"pin", keep<PageChange, pin_of, &PageChange::pin>},
};

Result<std::size_t> count_of(std::string_view field, std::string_view text, std::size_t least,
                             std::size_t most) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < least ||
        number > most) {
        return wrong_field(
            field, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return number;
}

Status set_query_field(const QueryField& field, PageQuery& query) {
    if (field.name == "limit") {
        TRY(query.limit, count_of("limit", field.value, 1, titles::kMaxListed));
    } else if (field.name == "offset") {
        TRY(query.offset, count_of("offset", field.value, 0, titles::kMaxPages));
    } else if (field.name == "sort") {
        const auto order = titles::parse_page_order(field.value);
        if (!order) {
            return wrong_field("sort", "newest, oldest or title");
        }
        query.order = *order;
    } else if (field.name == "all") {
        if (field.value != "true" && field.value != "false") {
            return wrong_field("all", "true or false");
        }
        query.only_candidates = field.value == "false";
    } else {
        return unknown_field(field.name, {"limit", "offset", "sort", "all"});
    }
    return {};
}

}  // namespace

Result<PageAddition> parse_new_page(std::string_view body) {
    PageAddition addition;
    JsonReader reader(kPageLimits);  // not kept for the next body: its buffers hold a secret
    TRY_STATUS(read_fields<PageAddition>(reader, body, kAdditionFields, addition));
    TRY_STATUS(titles::validate(addition.page));
    if (!addition.pin.empty() && !addition.page.is_claimed) {
        return titles::pin_without_claim();
    }
    return addition;
}

Result<PageChange> parse_page_change(std::string_view body) {
    PageChange change;
    JsonReader reader(kPageLimits);  // the same
    TRY_STATUS(read_fields<PageChange>(reader, body, kChangeFields, change));
    if (change.patch.changes_nothing() && !change.pin) {
        return invalid_request(
            "expected at least one of: title, slug, author, body, lifecycle, claimed, pin");
    }
    TRY_STATUS(titles::validate(change.patch));
    if (change.pin && !change.pin->empty() && change.patch.is_claimed == false) {
        return titles::pin_without_claim();
    }
    return change;
}

Result<NewPage> parse_page_line(JsonReader& reader, std::string_view line) {
    PageAddition addition;
    TRY_STATUS(read_fields<PageAddition>(reader, line, kLineFields, addition));
    TRY_STATUS(titles::validate(addition.page));
    return std::move(addition.page);
}

Result<PageQuery> parse_page_query(std::string_view text) {
    PageQuery query;
    TRY(const std::vector<QueryField> fields, read_query_string(text));
    std::vector<std::string_view> seen;
    for (const QueryField& field : fields) {
        if (std::ranges::find(seen, field.name) != seen.end()) {
            return invalid_request(shown_name(field.name) + ": given twice");
        }
        TRY_STATUS(set_query_field(field, query));
        seen.push_back(field.name);
    }
    return query;
}

}  // namespace sluice::surface
