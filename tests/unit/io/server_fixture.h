// A server on a port of its own with a handler whose answers a test can hold back.
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "io/http_server.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "support/collecting_sink.h"
#include "support/raw_client.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace sluice::test {

// GET /           "hello"
// any  /echo      what arrived: method, path, query, peer, body
// GET  /wait      a Task that answers "released" after release(), or is cancelled
// GET  /elsewhere as /wait, on the executor that set_elsewhere() named
// GET  /later     a Task that answers "later" after a trip through the scheduler
// GET  /body      the shared body behind the lead, see set_body()
// GET  /close     "bye", and close
// GET  /throw     an exception; /throw-later one from a Task
// GET  /status/N  an empty answer with status N
class ScriptedHandler final : public io::HttpHandler {
 public:
    explicit ScriptedHandler(Clock& clock) : clock_(clock) {}

    io::HttpReply handle(const io::HttpRequest& request) override;
    // 401 at /refused, which has nothing else.
    std::optional<io::HttpResponse> refuse_head(const io::HttpRequest& request) override;
    io::HttpResponse refuse(const Error& error, const RequestId& id) override;

    void set_body(std::string lead, std::string body, std::string headers = {});

    void set_elsewhere(Executor executor);

    // Ends every /wait that is under way and those to come.
    void release();
    // True when that many /wait have been started, or cancelled, within ten seconds.
    bool wait_for_started(int count);
    bool wait_for_cancelled(int count);
    int handled() const;

 private:
    // On the heap, since a cancelled Task may outlive the lock that found it.
    struct Gate {
        std::shared_ptr<Timer> timer;
        Executor executor;
    };

    Task<io::HttpResponse> wait(const io::HttpRequest& request);
    Task<io::HttpResponse> wait_elsewhere(const io::HttpRequest& request, Executor executor);
    Task<io::HttpResponse> later();
    Task<io::HttpResponse> throw_later();
    bool wait_until(const std::function<bool()>& done);

    Clock& clock_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Gate> gates_;
    bool released_ = false;
    int started_ = 0;
    int cancelled_ = 0;
    int handled_ = 0;
    std::optional<Executor> elsewhere_;
    std::string lead_;
    std::shared_ptr<const io::HttpBody> body_;
    std::string headers_;
};

class RunningServer {
 public:
    // `config.listen` and, where it is 0, `config.threads` are set here.
    explicit RunningServer(io::HttpServerConfig config = {}, std::string unix_path = {});
    ~RunningServer();

    RawClient connect() const { return RawClient(address); }

    SystemClock clock;
    SystemRandom random;
    CollectingSink sink;
    obs::Log log{clock, sink, obs::Level::kDebug};
    obs::Metrics metrics;
    ScriptedHandler handler{clock};
    std::unique_ptr<io::HttpServer> server;
    std::string address;
};

}  // namespace sluice::test
