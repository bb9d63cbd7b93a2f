// Light, dark, or as the browser is set: kept in a cookie that holds that one word.
#pragma once

#include "io/http_message.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::surface {

inline constexpr std::string_view kThemePath = "/theme/{theme}";

enum class Theme : std::uint8_t { kAuto, kLight, kDark };
std::string_view to_string(Theme theme);
std::optional<Theme> parse_theme(std::string_view word);

// What the request's cookie says; kAuto without a cookie that can be read. Any thread, as all here.
Theme theme_of(const io::HttpRequest& request);

// 303 to `back` with the cookie set, or for kAuto taken away. To "/" unless `back` is the path of
// one of our pages.
io::HttpResponse theme_response(Theme theme, std::string_view back);

// Whether a browser may be sent there: "/", "/search" and "/p/...", with any query, and nothing
// that a browser could take for an address elsewhere.
bool is_local_page(std::string_view target);

}  // namespace sluice::surface
