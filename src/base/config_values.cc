#include "base/config_values.h"

#include "base/json.h"
#include "base/result.h"
#include "base/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

namespace sluice {

namespace {

using Millis = std::chrono::milliseconds;

struct Unit {
    std::string_view name;
    double factor;
};

constexpr std::array<Unit, 6> kDurationUnits = {
    {{"", 1e3}, {"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3}, {"d", 86400e3}}};

constexpr std::array<Unit, 10> kSizeUnits = {{{"", 1},
                                              {"B", 1},
                                              {"KiB", 0x1p10},
                                              {"MiB", 0x1p20},
                                              {"GiB", 0x1p30},
                                              {"TiB", 0x1p40},
                                              {"KB", 1e3},
                                              {"MB", 1e6},
                                              {"GB", 1e9},
                                              {"TB", 1e12}}};

// Whole up to here in a double, so nothing is lost on the way.
constexpr double kLargest = 9007199254740992.0;

// The nearest whole number, if `value` is one but for what binary fractions lose (0.1 s is 100 ms).
std::optional<double> whole(double value) {
    const double rounded = std::round(value);
    if (!(std::abs(value) <= kLargest) || std::abs(value - rounded) > 1e-6) {
        return std::nullopt;
    }
    return rounded;
}

template <class T>
std::optional<T> parse_all(std::string_view text) {
    text = trim(text);
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

// A number, perhaps blanks, perhaps a unit.
std::optional<double> parse_with_unit(std::string_view text, std::span<const Unit> units) {
    text = trim(text);
    const std::size_t end = text.find_first_not_of("0123456789.-");
    const auto number = parse_decimal(text.substr(0, end));
    if (!number) {
        return std::nullopt;
    }
    const std::string_view name =
        end == std::string_view::npos ? std::string_view() : trim(text.substr(end));
    for (const Unit& unit : units) {
        if (equals_ignoring_case(unit.name, name)) {
            return whole(*number * unit.factor);
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_whole_number(std::string_view text) {
    return parse_all<std::int64_t>(text);
}

std::optional<double> parse_decimal(std::string_view text) {
    const auto number = parse_all<double>(text);
    return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<bool> parse_switch(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, bool>, 8> kWords = {{{"true", true},
                                                                          {"yes", true},
                                                                          {"on", true},
                                                                          {"1", true},
                                                                          {"false", false},
                                                                          {"no", false},
                                                                          {"off", false},
                                                                          {"0", false}}};
    for (const auto& [word, meaning] : kWords) {
        if (equals_ignoring_case(trim(text), word)) {
            return meaning;
        }
    }
    return std::nullopt;
}

std::optional<Millis> parse_duration(std::string_view text) {
    const auto millis = parse_with_unit(text, kDurationUnits);
    return millis ? std::optional(Millis(static_cast<std::int64_t>(*millis))) : std::nullopt;
}

std::optional<Millis> duration_of_seconds(double seconds) {
    const auto millis = whole(seconds * 1e3);
    return millis ? std::optional(Millis(static_cast<std::int64_t>(*millis))) : std::nullopt;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
    const auto bytes = parse_with_unit(text, kSizeUnits);
    return bytes && *bytes >= 0 ? std::optional(static_cast<std::uint64_t>(*bytes)) : std::nullopt;
}

std::string format_duration(Millis duration) {
    const std::int64_t count = duration.count();
    constexpr std::array<std::pair<std::int64_t, std::string_view>, 4> kUnits = {
        {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}}};
    for (const auto& [factor, name] : kUnits) {
        if (count != 0 && count % factor == 0) {
            return std::to_string(count / factor).append(name);
        }
    }
    return count == 0 ? "0s" : std::to_string(count) + "ms";
}

std::string format_seconds(Millis duration) {
    return format_decimal(static_cast<double>(duration.count()) / 1e3);
}

std::string format_size(std::uint64_t bytes) {
    constexpr std::array<std::string_view, 4> kUnits = {"TiB", "GiB", "MiB", "KiB"};
    for (std::size_t i = 0; i < kUnits.size(); ++i) {
        const std::uint64_t factor = std::uint64_t{1} << (40 - 10 * i);
        if (bytes != 0 && bytes % factor == 0) {
            return std::to_string(bytes / factor).append(kUnits[i]);
        }
    }
    return std::to_string(bytes);
}

std::string format_decimal(double number) {
    char digits[32];
    const std::to_chars_result result = std::to_chars(digits, digits + sizeof digits, number);
    SLUICE_ASSERT(result.ec == std::errc());
    return {digits, result.ptr};
}

std::string toml_string(std::string_view text) {
    std::string quoted;
    append_json_string(quoted, text);
    // JSON's escapes are TOML's too, but TOML has one forbidden character more.
    for (std::size_t at = quoted.find('\x7f'); at != std::string::npos; at = quoted.find('\x7f')) {
        quoted.replace(at, 1, "\\u007f");
    }
    return quoted;
}

std::string toml_list(const std::vector<std::string>& texts) {
    std::string list = "[";
    for (const std::string& text : texts) {
        list.append(list.size() > 1 ? ", " : "").append(toml_string(text));
    }
    return list + "]";
}

}  // namespace sluice
