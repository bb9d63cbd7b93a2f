// The doors for operators and probes: /healthz, /readyz, /v1/status, /metrics, /openapi.json, and
// on the admin socket the cache purge.
#pragma once

#include "access/access.h"
#include "base/clock.h"
#include "base/request_context.h"
#include "base/task.h"
#include "io/http_message.h"
#include "io/postgres.h"
#include "obs/metrics.h"
#include "web/search.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sluice::surface {

enum class TitlesServed : bool { kNo, kYes };

// Any thread. What a caller is let in by stands beside each function; a refusal is a problem as
// surface/common/errors.h has it.
class OpsDoor {
 public:
    // References outlive it.
    // `database` may be null: everything is kept in files.
    OpsDoor(web::Search& search, access::Access& access, const io::PostgresClient* database,
            const obs::Metrics& metrics, const Clock& clock, std::string version,
            TitlesServed titles);

    // Anybody: 200 as long as the process answers.
    io::HttpReply healthz(const io::HttpRequest& request);
    // Anybody: 200 when what this gateway is there for can be served, 503 with the reason
    // otherwise, and while draining. Tokens have to be known. Web searches need an enabled provider
    // of a route with a usable key, Redis where it is required, and somewhere to write spending
    // down; titles need the database that pages are in. A gateway that serves titles and has no key
    // at all is there for those: it is ready, and `without` says why not for web searches.
    // `need=web` and `need=titles` ask of one of them alone; any other `need` is a 400.
    io::HttpReply readyz(const io::HttpRequest& request);
    // Scope status: lanes, circuits, egress, cache, Redis, the database, keys by state, providers,
    // as JSON.
    io::HttpReply status(const io::HttpRequest& request);
    // Scope status: the Prometheus text format.
    io::HttpReply metrics(const io::HttpRequest& request);
    // Anybody.
    io::HttpReply openapi(const io::HttpRequest& request);
    // The admin socket only, which the router sees to: {"purged": how many answers,
    // "purged_results": how many answers of providers beneath them}; with Redis also "shared":
    // whether what is kept there is forgotten, too.
    io::HttpReply purge_cache(const io::HttpRequest& request);

    // From here on readyz says 503, so that balancers stop sending.
    void start_draining();

 private:
    enum class Need : std::uint8_t { kWhatItIsFor, kWeb, kTitles };
    // What keeps it from web searches.
    struct WebTrouble {
        Error error;
        bool is_without_keys = false;  // nobody gave it any
    };
    Task<io::HttpResponse> render_readyz(Need need, RequestId id);
    Task<std::optional<WebTrouble>> web_trouble();
    Task<std::optional<Error>> titles_trouble();
    Task<io::HttpResponse> render_status();
    Task<io::HttpResponse> purge_both();
    io::HttpResponse purge_here(std::optional<bool> shared);

    web::Search& search_;
    access::Access& access_;
    const io::PostgresClient* const database_;
    const obs::Metrics& metrics_;
    const Clock& clock_;
    const std::string version_;
    const TitlesServed titles_;
    const Instant started_;
    std::atomic<bool> draining_{false};
    std::shared_ptr<const io::HttpBody> openapi_;
};

}  // namespace sluice::surface
