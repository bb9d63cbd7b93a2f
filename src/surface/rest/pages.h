// The doors to the pages for whoever administers them: /v1/pages. No answer ever holds a PIN or its
// hash.
#pragma once

#include "access/access.h"
#include "base/json.h"
#include "base/request_context.h"
#include "base/task.h"
#include "io/http_message.h"
#include "surface/common/router.h"
#include "surface/rest/page_request.h"
#include "titles/compute_threads.h"
#include "titles/page.h"
#include "titles/page_store.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::surface {

inline constexpr std::string_view kPagesPath = "/v1/pages";
inline constexpr std::string_view kPagePath = "/v1/pages/{id}";

// Any thread. All of it needs the scope admin; a refusal is a problem as surface/common/errors.h
// has it: 404 for an id that is not known, 409 for an id or a slug that another page has, 503 when
// the store is away or too many PINs are being hashed.
class PageAdminDoor {
 public:
    // References outlive it. PINs are hashed on `hashing`.
    PageAdminDoor(titles::PageStore& pages, titles::ComputeThreads& hashing,
                  access::Access& access);

    io::HttpReply list(const io::HttpRequest& request);    // {"pages": [record, ...], "total"}
    io::HttpReply add(const io::HttpRequest& request);     // 201, the record
    io::HttpReply get(const io::HttpRequest& request);     // the record and its body
    io::HttpReply change(const io::HttpRequest& request);  // the record as it is afterwards
    io::HttpReply remove(const io::HttpRequest& request);  // 204

 private:
    Result<access::Caller> require_admin(const io::HttpRequest& request) const;
    Task<io::HttpResponse> finish_list(titles::PageQuery query, RequestId id);
    Task<io::HttpResponse> finish_add(PageAddition addition, RequestId id);
    Task<io::HttpResponse> finish_get(std::int64_t page, RequestId id);
    Task<io::HttpResponse> finish_change(std::int64_t page, PageChange change, RequestId id);
    Task<io::HttpResponse> finish_remove(std::int64_t page, RequestId id);
    Task<Result<std::string>> hash(Secret pin);

    titles::PageStore& pages_;
    titles::ComputeThreads& hashing_;
    access::Access& access_;
};

// The routes of this door, which outlives them.
std::vector<Route> page_admin_routes(PageAdminDoor& pages);

// Members of one record; `body` stands beside them where it is shown.
void write_page_fields(JsonWriter& json, const titles::PageRecord& page);
std::string render_page(const titles::PageRecord& page);
std::string render_page_text(const titles::PageText& page);
std::string render_page_list(const titles::PageList& list);

}  // namespace sluice::surface
