#include "io/recordings.h"

#include "base/environment.h"
#include "io/exchange_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace sluice::io {

namespace fs = std::filesystem;

namespace {

Error refuse(std::string message) {
    return Error{Code::kInvalidRequest, Blame::kCaller, std::move(message), {}};
}

Result<std::vector<std::string>> list(const std::string& dir) {
    std::vector<std::string> paths;
    std::error_code error;
    for (fs::directory_iterator at(dir, error), end; !error && at != end; at.increment(error)) {
        if (at->path().filename().string().ends_with(kExchangeSuffix)) {
            paths.push_back(at->path().string());
        }
    }
    if (error) {
        return refuse("cannot read " + dir + ": " + error.message());
    }
    if (paths.empty()) {
        return refuse(dir + " has no recordings, which are files *" + std::string(kExchangeSuffix));
    }
    if (paths.size() > Recordings::kMaxFiles) {
        return refuse(dir + " has more than " + std::to_string(Recordings::kMaxFiles) + " files");
    }
    std::ranges::sort(paths);
    return paths;
}

}  // namespace

Result<Recordings> Recordings::load(const std::string& dir,
                                    std::span<const std::string_view> upstreams) {
    TRY(const std::vector<std::string> paths, list(dir));
    Recordings loaded;
    std::size_t room = kMaxBytes;
    std::size_t mistakes = 0;
    std::string told;
    const SystemEnvironment files;
    for (const std::string& path : paths) {
        const auto text = files.read_file(path, std::min(room, ExchangeFormat::kMaxFileBytes));
        auto exchange =
            text.ok() ? loaded.format_.read(*text, upstreams) : Result<Exchange>(text.error());
        if (exchange.ok()) {
            room -= text->size();
            loaded.add(*std::move(exchange));
            continue;
        }
        mistakes += 1;
        if (mistakes <= kMaxMistakes) {
            told.append("\n  ").append(path).append(": ").append(exchange.error().message);
        }
    }
    if (mistakes > 0) {
        return refuse(std::to_string(mistakes) + " of " + std::to_string(paths.size()) +
                      " recordings can't be used:" + told);
    }
    return loaded;
}

void Recordings::add(Exchange exchange) {
    size_ += 1;
    by_upstream_[exchange.request.upstream] += 1;
    const std::string key = format_.match_key(exchange.request);
    by_request_[key].exchanges.push_back(std::move(exchange));
}

const Exchange* Recordings::next(const ExchangeRequest& request) {
    const auto found = by_request_.find(format_.match_key(request));
    if (found == by_request_.end()) {
        return nullptr;
    }
    Series& series = found->second;
    const Exchange& exchange = series.exchanges[series.at];
    series.at = std::min(series.at + 1, series.exchanges.size() - 1);
    return &exchange;
}

std::size_t Recordings::size_of(const std::string& upstream) const {
    const auto found = by_upstream_.find(upstream);
    return found == by_upstream_.end() ? 0 : found->second;
}

}  // namespace sluice::io
