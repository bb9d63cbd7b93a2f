// The query part of a provider's address, written piece by piece.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace sluice::web {

// Appends to `url`, which has no query part yet and must outlive it.
class UrlQuery {
 public:
    explicit UrlQuery(std::string& url) : url_(url) {}

    UrlQuery& add(std::string_view name, std::string_view value);  // percent-encodes the value
    template <std::integral T>
    UrlQuery& add(std::string_view name, T number) {
        return add(name, std::string_view(std::to_string(number)));
    }

 private:
    std::string& url_;
    char separator_ = '?';
};

}  // namespace sluice::web
