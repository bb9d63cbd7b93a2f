#include "surface/rest/pages.h"

#include "base/rfc3339.h"
#include "surface/common/errors.h"
#include "surface/common/responses.h"
#include "titles/pin.h"

#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

namespace sluice::surface {

namespace {

// Nothing for what is no id of a page; there is none with it, so that it is not found.
std::optional<std::int64_t> id_of(const io::HttpRequest& request) {
    const std::string_view text = path_parameter(kPagePath, request.path).value_or("");
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    return is_number && id > 0 ? std::optional(id) : std::nullopt;
}

io::HttpResponse not_found(const RequestId& id) {
    return problem(Error{Code::kNotFound, Blame::kCaller, "there is no such page", {}}, id);
}

// A task, since run_on() takes one.
Task<Result<std::string>> hash_here(Secret pin) {
    co_return titles::hash_pin(pin);
}

}  // namespace

PageAdminDoor::PageAdminDoor(titles::PageStore& pages, titles::ComputeThreads& hashing,
                             access::Access& access)
    : pages_(pages), hashing_(hashing), access_(access) {}

Result<access::Caller> PageAdminDoor::require_admin(const io::HttpRequest& request) const {
    return access_.identify(access_.credentials_of(request), access::Scope::kAdmin);
}

Task<Result<std::string>> PageAdminDoor::hash(Secret pin) {
    const auto slot = hashing_.try_acquire();
    if (!slot) {
        co_return Error{Code::kOverloaded, Blame::kGateway,
                        "too many PINs are being hashed; try again in a second",
                        std::chrono::seconds(1)};
    }
    co_return co_await run_on(slot->executor(), hash_here(std::move(pin)));
}

io::HttpReply PageAdminDoor::list(const io::HttpRequest& request) {
    const auto caller = require_admin(request);
    if (!caller.ok()) {
        return problem(caller.error(), request.context.id);
    }
    const Result<titles::PageQuery> query = parse_page_query(request.query);
    if (!query.ok()) {
        return problem(query.error(), request.context.id);
    }
    return finish_list(*query, request.context.id);
}

io::HttpReply PageAdminDoor::add(const io::HttpRequest& request) {
    const auto caller = require_admin(request);
    if (!caller.ok()) {
        return problem(caller.error(), request.context.id);
    }
    if (const auto error = check_json_body(request)) {
        return problem(*error, request.context.id);
    }
    Result<PageAddition> addition = parse_new_page(request.body);
    if (!addition.ok()) {
        return problem(addition.error(), request.context.id);
    }
    return finish_add(*std::move(addition), request.context.id);
}

io::HttpReply PageAdminDoor::get(const io::HttpRequest& request) {
    const auto caller = require_admin(request);
    if (!caller.ok()) {
        return problem(caller.error(), request.context.id);
    }
    const auto page = id_of(request);
    if (!page) {
        return not_found(request.context.id);
    }
    return finish_get(*page, request.context.id);
}

io::HttpReply PageAdminDoor::change(const io::HttpRequest& request) {
    const auto caller = require_admin(request);
    if (!caller.ok()) {
        return problem(caller.error(), request.context.id);
    }
    if (const auto error = check_json_body(request)) {
        return problem(*error, request.context.id);
    }
    Result<PageChange> change = parse_page_change(request.body);
    if (!change.ok()) {
        return problem(change.error(), request.context.id);
    }
    const auto page = id_of(request);
    if (!page) {
        return not_found(request.context.id);
    }
    return finish_change(*page, *std::move(change), request.context.id);
}

io::HttpReply PageAdminDoor::remove(const io::HttpRequest& request) {
    const auto caller = require_admin(request);
    if (!caller.ok()) {
        return problem(caller.error(), request.context.id);
    }
    const auto page = id_of(request);
    if (!page) {
        return not_found(request.context.id);
    }
    return finish_remove(*page, request.context.id);
}

Task<io::HttpResponse> PageAdminDoor::finish_list(titles::PageQuery query, RequestId id) {
    const Result<titles::PageList> list = co_await pages_.list(query);
    if (!list.ok()) {
        co_return problem(list.error(), id);
    }
    co_return json_response(render_page_list(*list));
}

Task<io::HttpResponse> PageAdminDoor::finish_add(PageAddition addition, RequestId id) {
    if (!addition.pin.empty()) {
        Result<std::string> hashed = co_await hash(std::move(addition.pin));
        if (!hashed.ok()) {
            co_return problem(hashed.error(), id);
        }
        addition.page.pin_hash = *std::move(hashed);
    }
    const Result<titles::PageRecord> record = co_await pages_.add(std::move(addition.page));
    if (!record.ok()) {
        co_return problem(record.error(), id);
    }
    io::HttpResponse response = json_response(render_page(*record));
    response.status = 201;
    response.headers += "Location: /v1/pages/" + std::to_string(record->id) + "\r\n";
    co_return response;
}

Task<io::HttpResponse> PageAdminDoor::finish_get(std::int64_t page, RequestId id) {
    const Result<titles::PageText> text = co_await pages_.text(page);
    if (!text.ok()) {
        co_return problem(text.error(), id);
    }
    co_return json_response(render_page_text(*text));
}

Task<io::HttpResponse> PageAdminDoor::finish_change(std::int64_t page, PageChange change,
                                                    RequestId id) {
    if (change.pin && change.pin->empty()) {
        change.patch.pin_hash = "";
    } else if (change.pin) {
        Result<std::string> hashed = co_await hash(*std::move(change.pin));
        if (!hashed.ok()) {
            co_return problem(hashed.error(), id);
        }
        change.patch.pin_hash = *std::move(hashed);
    }
    const Result<titles::PageRecord> record = co_await pages_.patch(page, std::move(change.patch));
    if (!record.ok()) {
        co_return problem(record.error(), id);
    }
    co_return json_response(render_page(*record));
}

Task<io::HttpResponse> PageAdminDoor::finish_remove(std::int64_t page, RequestId id) {
    const Status removed = co_await pages_.remove(page);
    if (!removed.ok()) {
        co_return problem(removed.error(), id);
    }
    io::HttpResponse response;
    response.status = 204;
    response.headers = "Cache-Control: no-store\r\n";
    co_return response;
}

std::vector<Route> page_admin_routes(PageAdminDoor& pages) {
    using io::HttpRequest;
    using io::Method;
    return {
        {Method::kGet, std::string(kPagesPath),
         [&](const HttpRequest& r) { return pages.list(r); }},
        {Method::kPost, std::string(kPagesPath),
         [&](const HttpRequest& r) { return pages.add(r); }},
        {Method::kGet, std::string(kPagePath), [&](const HttpRequest& r) { return pages.get(r); }},
        {Method::kPatch, std::string(kPagePath),
         [&](const HttpRequest& r) { return pages.change(r); }},
        {Method::kDelete, std::string(kPagePath),
         [&](const HttpRequest& r) { return pages.remove(r); }},
    };
}

void write_page_fields(JsonWriter& json, const titles::PageRecord& page) {
    json.field("id", page.id).field("title", page.title).field("slug", page.slug);
    json.field("author", page.author).field("lifecycle", to_string(page.lifecycle));
    json.field("claimed", page.is_claimed).field("has_pin", page.has_pin);
    json.field("current_version", page.version);
    json.field("created_at", rfc3339(page.created_at));
    json.field("updated_at", rfc3339(page.updated_at));
}

std::string render_page(const titles::PageRecord& page) {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    write_page_fields(json, page);
    json.end_object();
    return out;
}

std::string render_page_text(const titles::PageText& page) {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    write_page_fields(json, page.record);
    json.field("body", page.body).end_object();
    return out;
}

std::string render_page_list(const titles::PageList& list) {
    std::string out;
    JsonWriter json(out);
    json.begin_object().key("pages").begin_array();
    for (const titles::PageRecord& page : list.pages) {
        json.begin_object();
        write_page_fields(json, page);
        json.end_object();
    }
    json.end_array().field("total", list.total).end_object();
    return out;
}

}  // namespace sluice::surface
