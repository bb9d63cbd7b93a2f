// What pages load beside their HTML. Names have the hash of the content in them, so that browsers
// keep a file for as long as they like.
#pragma once

#include "io/http_message.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::surface {

inline constexpr std::string_view kAssetPath = "/assets/{name}";

// Immutable after construction; any thread.
class Assets {
 public:
    // The longest wait that a countdown is made for.
    static constexpr std::chrono::seconds kMaxCountdown{3'600};

    Assets();

    // Where `file` ("pages.css") is served; there has to be such a file (asserted).
    std::string_view path_of(std::string_view file) const;

    // Where the style sheet is served that counts `wait` down without a script: 1 to kMaxCountdown.
    std::string countdown_path(std::chrono::seconds wait) const;

    // Nothing: there is no such file.
    std::optional<io::HttpResponse> get(std::string_view path) const;

 private:
    struct File {
        std::string type;
        std::shared_ptr<const io::HttpBody> body;
    };
    std::map<std::string, File, std::less<>> files_;         // by path
    std::map<std::string, std::string, std::less<>> paths_;  // by name
    std::string countdown_prefix_;
};

}  // namespace sluice::surface
