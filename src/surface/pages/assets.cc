#include "surface/pages/assets.h"

#include "base/hash.h"
#include "base/result.h"
#include "surface/pages/embedded.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace sluice::surface {

namespace {

constexpr std::string_view kFolder = "assets/";
constexpr std::string_view kCountdownSuffix = ".css";

std::string_view type_of(std::string_view suffix) {
    constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
        {".css", "text/css; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".svg", "image/svg+xml"},
    };
    const auto* const found =
        std::ranges::find(kTypes, suffix, &std::pair<std::string_view, std::string_view>::first);
    SLUICE_ASSERT(found != std::end(kTypes));
    return found->second;
}

std::string content_tag(std::string_view bytes) {
    return to_hex(sha256(bytes)).substr(0, 12);
}

std::string number(std::int64_t value) {
    return std::to_string(value);
}

// Seconds up to here, minutes beyond.
constexpr std::chrono::seconds kCountedInSeconds{90};

// A browser counts a custom property of the type integer down in steps, and shows it by a counter.
// One that knows no such properties goes on showing the text that stands in the page. The property
// `transition-behavior` came after @property in every browser, so it tells them apart.
std::string countdown_sheet(std::chrono::seconds wait) {
    const bool in_seconds = wait <= kCountedInSeconds;
    const std::int64_t unit = in_seconds ? 1 : 60;
    const std::int64_t steps = (wait.count() + unit - 1) / unit;
    const std::int64_t all = steps * unit;
    return "@property --left { syntax: \"<integer>\"; initial-value: 0; inherits: false; }\n"
           "@keyframes left { from { --left: " +
           number(steps) +
           "; } to { --left: 0; } }\n"
           "@keyframes over { to { visibility: visible; } }\n"
           "@keyframes past { to { visibility: hidden; } }\n"
           "@supports (transition-behavior: allow-discrete) {\n"
           "html:not(.scripted) .still { position: absolute; clip-path: inset(50%); }\n"
           "html:not(.scripted) .clock::after { counter-reset: left var(--left); content: "
           "counter(left) \"" +
           (in_seconds ? " s" : " min") + "\"; animation: left " + number(all) + "s steps(" +
           number(steps) + ") " + number(wait.count() - all) +
           "s forwards; }\n}\n.wait { animation: past 0s linear " + number(wait.count()) +
           "s forwards; }\n.over-text { animation: over 0s linear " + number(wait.count()) +
           "s forwards; }\n";
}

io::HttpResponse cached_for_ever(std::string_view type) {
    io::HttpResponse response;
    response.headers.append("Content-Type: ").append(type);
    response.headers += "\r\nCache-Control: public, max-age=31536000, immutable\r\n";
    return response;
}

}  // namespace

Assets::Assets() {
    for (const EmbeddedFile& file : embedded_files()) {
        if (!file.path.starts_with(kFolder)) {
            continue;
        }
        const std::string_view name = file.path.substr(kFolder.size());
        const std::size_t dot = name.rfind('.');
        const std::string_view suffix = name.substr(dot);
        std::string path = "/assets/" + std::string(name.substr(0, dot)) + "-" +
                           content_tag(file.bytes) + std::string(suffix);
        files_[path] = {std::string(type_of(suffix)),
                        std::make_shared<const io::HttpBody>(std::string(file.bytes))};
        paths_[std::string(name)] = std::move(path);
    }
    // One of them stands for all: they differ in numbers.
    countdown_prefix_ =
        "/assets/countdown-" + content_tag(countdown_sheet(std::chrono::seconds{1})) + "-";
}

std::string_view Assets::path_of(std::string_view file) const {
    const auto found = paths_.find(file);
    SLUICE_ASSERT(found != paths_.end());
    return found->second;
}

std::string Assets::countdown_path(std::chrono::seconds wait) const {
    wait = std::clamp(wait, std::chrono::seconds{1}, kMaxCountdown);
    return countdown_prefix_ + number(wait.count()) + std::string(kCountdownSuffix);
}

std::optional<io::HttpResponse> Assets::get(std::string_view path) const {
    if (const auto found = files_.find(path); found != files_.end()) {
        io::HttpResponse response = cached_for_ever(found->second.type);
        response.body = found->second.body;
        return response;
    }
    if (!path.starts_with(countdown_prefix_) || !path.ends_with(kCountdownSuffix)) {
        return std::nullopt;
    }
    std::int64_t seconds = 0;
    const char* const begin = path.data() + countdown_prefix_.size();
    const char* const end = path.data() + path.size() - kCountdownSuffix.size();
    const auto [after, error] = std::from_chars(begin, std::max(begin, end), seconds);
    if (error != std::errc() || after != end || seconds < 1 || seconds > kMaxCountdown.count()) {
        return std::nullopt;
    }
    io::HttpResponse response = cached_for_ever(type_of(kCountdownSuffix));
    response.lead = countdown_sheet(std::chrono::seconds{seconds});
    return response;
}

}  // namespace sluice::surface
