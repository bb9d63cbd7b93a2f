#include "app/offline_keys.h"

#include "access/access.h"
#include "access/tokens.h"
#include "app/key_file.h"
#include "app/wire.h"
#include "base/clock.h"
#include "base/random.h"
#include "io/http_client.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "surface/common/router.h"
#include "surface/rest/keys.h"
#include "web/key_admin.h"
#include "web/key_runtime_memory.h"
#include "web/key_watch.h"
#include "web/keys.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <optional>
#include <utility>
#include <variant>

namespace sluice::app {

namespace {

io::Method method_of(const std::string& name) {
    for (const io::Method method :
         {io::Method::kGet, io::Method::kPost, io::Method::kPatch, io::Method::kDelete}) {
        if (name == to_string(method)) {
            return method;
        }
    }
    return io::Method::kOther;
}

}  // namespace

// Members are in dependency order.
struct OfflineKeys::Parts {
    explicit Parts(const Config& config)
        : sink(obs::make_stderr_sink()),
          log(clock, *sink, obs::Level::kError),
          web_config(std::make_shared<const web::WebConfig>(config.web)),
          http(loop.get_executor(), config.upstream, clock, log, metrics),
          pool(std::make_shared<web::MemoryKeyRuntime>(clock, config.web.keys.runtime)),
          access(access::AccessConfig{}, true, {}, tokens, clock, metrics) {}

    // Runs `task` to its end on this thread.
    template <class T>
    T run(Task<T> task) {
        std::optional<T> result;
        std::exception_ptr error;
        boost::asio::co_spawn(loop, store_result(std::move(task), result),
                              [&error](const std::exception_ptr& e) { error = e; });
        loop.restart();
        loop.run();
        if (error) {
            std::rethrow_exception(error);
        }
        return std::move(*result);
    }

    SystemClock clock;
    SystemRandom random;
    std::unique_ptr<obs::LogSink> sink;
    obs::Log log;
    obs::Metrics metrics;
    boost::asio::io_context loop{1};
    std::shared_ptr<const web::WebConfig> web_config;
    io::CurlHttpClient http;
    web::KeyPool pool;
    access::TokenTable tokens;
    access::Access access;
    KeyFile file;
    std::unique_ptr<web::KeyWatch> watch;
    std::unique_ptr<web::KeyAdmin> admin;
    std::unique_ptr<surface::KeysDoor> door;
    std::unique_ptr<surface::Router> router;
};

Result<std::unique_ptr<OfflineKeys>> OfflineKeys::open(const Config& config,
                                                       const Environment& environment) {
    TRY_STATUS(prepare_data_dir(config.data_dir));
    auto parts = std::make_unique<Parts>(config);
    TRY(parts->file,
        open_key_file(config, environment, parts->clock, parts->random, parts->metrics));
    TRY_STATUS(parts->run(parts->file.store->unlock()));
    parts->watch = std::make_unique<web::KeyWatch>(*parts->file.store, parts->pool, parts->clock,
                                                   parts->log, parts->metrics);
    TRY_STATUS(parts->run(parts->watch->refresh()));
    parts->admin = std::make_unique<web::KeyAdmin>(
        parts->loop.get_executor(), *parts->file.store, *parts->watch, parts->pool, parts->http,
        parts->clock, [settings = parts->web_config] { return settings; });
    parts->door = std::make_unique<surface::KeysDoor>(*parts->admin, parts->access, parts->clock);
    parts->router =
        std::make_unique<surface::Router>(surface::key_routes(*parts->door), parts->access);
    return std::unique_ptr<OfflineKeys>(new OfflineKeys(std::move(parts)));
}

OfflineKeys::OfflineKeys(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
OfflineKeys::~OfflineKeys() = default;

ServerAnswer OfflineKeys::answer(const ServerCall& call) {
    io::HttpRequest request;
    request.method = method_of(call.method);
    request.method_text = call.method;
    request.target = request.path = call.target;
    request.body = call.body;
    request.over_unix_socket = true;
    io::HttpReply reply = parts_->router->handle(request);
    if (auto* task = std::get_if<Task<io::HttpResponse>>(&reply)) {
        reply = parts_->run(std::move(*task));
    }
    const auto& response = std::get<io::HttpResponse>(reply);
    return {response.status, response.lead};
}

}  // namespace sluice::app
