// Writes exchanges with upstreams into a folder, one file each, on a thread of its own.
#pragma once

#include "base/clock.h"
#include "base/config_reader.h"
#include "base/result.h"
#include "io/http_client.h"
#include "obs/log.h"
#include "obs/metrics.h"

#include <cstddef>
#include <memory>
#include <string>

namespace sluice::io {

struct RecordConfig {
    std::string dir;  // empty: nothing is recorded
    std::size_t max_files = 10'000;
    std::size_t max_bytes = std::size_t{256} * 1024 * 1024;

    static RecordConfig read(ConfigReader in);  // the section "record"
};

// One call as it was made and ended. Holds its secrets, so that they can be removed.
struct EndedExchange {
    ClientRequest request;
    Result<ClientResponse> outcome;
    Millis latency{};
    WallTime ended{};
};

// The folder has mode 0700 and its files 0600. A file appears whole or not at all, and is called
// 000001-serper.json, counting on from what is there. Thread-safe.
class ExchangeWriter {
 public:
    // What waits for the thread. An exchange that finds no room is dropped and counted.
    static constexpr std::size_t kMaxQueued = 256;
    static constexpr std::size_t kMaxQueuedBytes = std::size_t{32} * 1024 * 1024;

    // Makes the folder unless it is there. kUnavailable when it can't be used, kForbidden when
    // others may read it, kConflict when another process records into it. References outlive the
    // writer.
    static Result<std::unique_ptr<ExchangeWriter>> open(RecordConfig config, const Clock& clock,
                                                        const obs::Log& log, obs::Metrics& metrics);
    // Writes what waits.
    ~ExchangeWriter();
    ExchangeWriter(const ExchangeWriter&) = delete;
    ExchangeWriter& operator=(const ExchangeWriter&) = delete;

    // Never waits. Secrets are removed before anything is written. A call that was cancelled has no
    // answer to keep and is only counted.
    void add(EndedExchange exchange);

 private:
    struct Impl;
    explicit ExchangeWriter(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::io
