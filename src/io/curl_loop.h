// Drives libcurl's multi interface from an Asio executor: libcurl says which sockets and which
// instant it waits for, this waits for them and tells it. Internal to http_client.cc; handles are
// libcurl's CURL*, kept opaque so that its header stays out of ours.
//
// Not thread-safe: everything happens on the executor's single thread.
#pragma once

#include "base/clock.h"
#include "base/task.h"
#include "obs/log.h"

#include <functional>
#include <memory>

namespace sluice::io {

class CurlLoop {
 public:
    struct Limits {
        long connections_per_host = 0;
        long idle_connections = 0;
    };

    // Told of each transfer that ended by itself, with its CURLcode, when its handle has been taken
    // out again. It is called from start() too (a transfer can fail at once), never from inside a
    // libcurl callback, and must not call back into the loop.
    using OnDone = std::function<void(void* easy, int code)>;

    CurlLoop(Executor executor, Limits limits, const Clock& clock, const obs::Log& log,
             OnDone on_done);
    // Closes every connection. No transfer may be left.
    ~CurlLoop();
    CurlLoop(const CurlLoop&) = delete;
    CurlLoop& operator=(const CurlLoop&) = delete;

    // What became of the sockets that a transfer asked for.
    struct Opening {
        void* loop = nullptr;    // ours
        void* easy = nullptr;    // ours
        int error = 0;           // the errno of the last one that could not be made; 0: all could
        bool is_second = false;  // one was refused: the request may have got there over another
    };

    // Starts the transfer that `easy` describes. `opening` outlives it. Where an upstream closes a
    // connection of before without an answer, libcurl would send the same request again over a new
    // one, also one that is paid for and that the upstream may have carried out: the transfer fails
    // instead.
    void start(void* easy, Opening& opening);

    // Takes out a transfer that has not ended; on_done is not called for it. An HTTP/1.1 connection
    // that it was using is closed, an HTTP/2 one only loses the stream. Never from inside a libcurl
    // callback.
    void stop(void* easy);

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::io
