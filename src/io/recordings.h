// Recordings in memory, found by the request that they answer.
#pragma once

#include "base/result.h"
#include "io/exchange.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::io {

// Not thread-safe.
class Recordings {
 public:
    static constexpr std::size_t kMaxFiles = 100'000;
    static constexpr std::size_t kMaxBytes = std::size_t{1024} * 1024 * 1024;

    // Reads each *.json of `dir`, in order of name. kInvalidRequest when there is none, when they
    // are too many or too large, or when some can't be read: then each of those is told, up to
    // kMaxMistakes, with file and field.
    static Result<Recordings> load(const std::string& dir,
                                   std::span<const std::string_view> upstreams);
    static constexpr std::size_t kMaxMistakes = 20;

    // The next recording of `request`: in order of the files, and the last one again and again.
    // Null when there is none. Valid as long as this object.
    const Exchange* next(const ExchangeRequest& request);

    std::size_t size() const { return size_; }
    std::size_t size_of(const std::string& upstream) const;

 private:
    struct Series {
        std::vector<Exchange> exchanges;
        std::size_t at = 0;
    };
    void add(Exchange exchange);

    ExchangeFormat format_;
    std::unordered_map<std::string, Series> by_request_;
    std::map<std::string, std::size_t> by_upstream_;
    std::size_t size_ = 0;
};

}  // namespace sluice::io
