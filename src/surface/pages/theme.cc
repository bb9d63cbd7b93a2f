#include "surface/pages/theme.h"

#include "base/text.h"
#include "surface/common/responses.h"

#include <algorithm>

namespace sluice::surface {

namespace {

constexpr std::string_view kCookie = "theme";
constexpr std::string_view kCookieScope = "; Path=/; SameSite=Lax; HttpOnly\r\n";
constexpr std::size_t kMaxTargetBytes = 2'048;

}  // namespace

std::string_view to_string(Theme theme) {
    switch (theme) {
        case Theme::kAuto:
            return "auto";
        case Theme::kLight:
            return "light";
        case Theme::kDark:
            return "dark";
    }
    return "";
}

std::optional<Theme> parse_theme(std::string_view word) {
    for (const Theme theme : {Theme::kAuto, Theme::kLight, Theme::kDark}) {
        if (to_string(theme) == word) {
            return theme;
        }
    }
    return std::nullopt;
}

Theme theme_of(const io::HttpRequest& request) {
    for (const io::HeaderField& field : request.headers) {
        if (!equals_ignoring_case(field.name, "Cookie")) {
            continue;
        }
        for (const std::string_view pair : split_list(field.value, ';')) {
            const std::size_t equals = pair.find('=');
            if (equals != std::string_view::npos && pair.substr(0, equals) == kCookie) {
                return parse_theme(pair.substr(equals + 1)).value_or(Theme::kAuto);
            }
        }
    }
    return Theme::kAuto;
}

bool is_local_page(std::string_view target) {
    const std::string_view path = target.substr(0, target.find('?'));
    const bool is_ours = path == "/" || path == "/search" || path.starts_with("/p/");
    return is_ours && target.size() <= kMaxTargetBytes &&
           path.find("..") == std::string_view::npos &&
           std::ranges::all_of(target, [](char c) { return c > 0x20 && c < 0x7F && c != '\\'; });
}

io::HttpResponse theme_response(Theme theme, std::string_view back) {
    io::HttpResponse response;
    response.status = 303;
    response.headers.append("Location: ").append(is_local_page(back) ? back : "/").append("\r\n");
    response.headers.append(kPrivateHeaders).append("Set-Cookie: ");
    response.headers.append(kCookie).append("=").append(to_string(theme));
    response.headers += theme == Theme::kAuto ? "; Max-Age=0" : "; Max-Age=31536000";
    response.headers.append(kCookieScope);
    return response;
}

}  // namespace sluice::surface
