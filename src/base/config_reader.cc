#include "base/config_reader.h"

#include "base/config_layers.h"
#include "base/config_values.h"
#include "base/text.h"

#include <functional>
#include <limits>
#include <optional>

namespace sluice {

namespace {

constexpr std::size_t kLongestQuote = 60;  // bytes of a wrong value that a message repeats
constexpr std::string_view kMask = "\"********\"";

// How one type of setting is described, read and written.
template <class T>
struct Kind {
    std::string type;      // for the generated pages
    std::string range;     //
    std::string expected;  // completes "expected ..."
    bool secret = false;   // a wrong value is not repeated
    std::function<std::optional<T>(const BareText&)> from_text;
    std::function<std::optional<T>(const TomlValue&)> from_toml;
    std::function<std::string(const T&)> to_toml;
};

std::string quote(std::string_view text) {
    if (text.size() <= kLongestQuote) {
        return toml_string(text);
    }
    // Cut between code points.
    std::size_t end = kLongestQuote;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
        end -= 1;
    }
    return toml_string(text.substr(0, end)) + "...";
}

// A URL without the password that it may hold; other text as it is.
std::string without_password(std::string_view text) {
    const std::size_t scheme_end = text.find("://");
    if (scheme_end == std::string_view::npos) {
        return std::string(text);
    }
    const std::size_t begin = scheme_end + 3;
    const std::string_view authority = text.substr(begin, text.find_first_of("/?#", begin) - begin);
    const std::size_t at = authority.rfind('@');
    if (at == std::string_view::npos) {
        return std::string(text);
    }
    return std::string(text.substr(0, begin)) + "********" + std::string(text.substr(begin + at));
}

// 4.0 must not be shown as the whole number that was asked for.
std::string with_point(std::string number) {
    const bool whole = number.find_first_not_of("-0123456789") == std::string::npos;
    return whole ? number + ".0" : number;
}

struct DescribeToml {
    bool secret;

    std::string operator()(const std::string& text) const {
        return secret ? "text that can't be used" : quote(text);
    }
    std::string operator()(std::int64_t number) const {
        return secret ? "a number" : std::to_string(number);
    }
    std::string operator()(double number) const {
        return secret ? "a number" : with_point(format_decimal(number));
    }
    std::string operator()(bool boolean) const { return boolean ? "true" : "false"; }
    std::string operator()(const std::vector<std::string>&) const { return "an array"; }
    std::string operator()(const TomlOther& other) const { return std::string(other.what); }
};

std::string describe(const ConfigValue& given, bool secret) {
    const DescribeToml describe_toml{secret};
    if (const auto* bare = std::get_if<BareText>(&given.value)) {
        return describe_toml(bare->text);
    }
    return std::visit(describe_toml, std::get<TomlValue>(given.value));
}

template <class T>
std::optional<T> within(std::optional<T> value, T min, T max) {
    return value && *value >= min && *value <= max ? value : std::nullopt;
}

// "1..4096", or "1.." when the type's limit is the only one.
template <class T, class Format>
std::string range_text(T min, T max, Format format) {
    return format(min) + ".." + (max == std::numeric_limits<T>::max() ? "" : format(max));
}

template <class T, class Format>
std::string from_to(T min, T max, Format format) {
    if (max == std::numeric_limits<T>::max()) {
        return " of at least " + format(min);
    }
    return " from " + format(min) + " to " + format(max);
}

template <class T>
void read_setting(ConfigLayers::Impl& layers, const std::string& prefix, const Setting& setting,
                  const Kind<T>& kind, T& field) {
    EffectiveSetting effective{.path = prefix + std::string(setting.key),
                               .type = kind.type,
                               .range = kind.range,
                               .default_value = kind.to_toml(field),
                               .value = {},
                               .origin = {},
                               .help = std::string(setting.help),
                               .env_alias = std::string(setting.env_alias),
                               .needs_restart = setting.needs_restart};
    ConfigPlace place;
    const bool is_template = prefix.find(kFreeName) != std::string::npos;
    const ConfigValue* given =
        is_template ? nullptr : layers.find(effective.path, setting.env_alias);
    if (given != nullptr) {
        const auto* bare = std::get_if<BareText>(&given->value);
        std::optional<T> value = bare != nullptr
                                     ? kind.from_text(*bare)
                                     : kind.from_toml(std::get<TomlValue>(given->value));
        if (value) {
            field = std::move(*value);
            place = given->place;
        } else {
            layers.record(given->place, effective.path,
                          "expected " + kind.expected + ", found " + describe(*given, kind.secret));
        }
    }
    effective.value = kind.to_toml(field);
    effective.origin = place.text;
    layers.declare(std::move(effective), place);
}

std::string format_whole(std::int64_t number) {
    return std::to_string(number);
}

std::optional<std::string> text_of(const TomlValue& value) {
    const auto* text = std::get_if<std::string>(&value);
    return text == nullptr ? std::nullopt : std::optional(*text);
}

std::optional<double> number_of(const TomlValue& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
        return static_cast<double>(*whole);
    }
    const auto* number = std::get_if<double>(&value);
    return number == nullptr ? std::nullopt : std::optional(*number);
}

// Seconds, or text with a unit.
std::optional<Millis> duration_of(const TomlValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
        return parse_duration(*text);
    }
    const std::optional<double> seconds = number_of(value);
    return seconds ? duration_of_seconds(*seconds) : std::nullopt;
}

// Bytes, or text with a unit.
std::optional<std::size_t> size_of(const TomlValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
        return parse_size(*text);
    }
    const auto* bytes = std::get_if<std::int64_t>(&value);
    return bytes != nullptr && *bytes >= 0 ? std::optional(static_cast<std::size_t>(*bytes))
                                           : std::nullopt;
}

std::vector<std::string> split_texts(std::string_view text) {
    const std::vector<std::string_view> pieces = split_list(text);
    return {pieces.begin(), pieces.end()};
}

std::optional<std::vector<std::string>> list_of(const TomlValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
        return split_texts(*text);
    }
    const auto* texts = std::get_if<std::vector<std::string>>(&value);
    return texts == nullptr ? std::nullopt : std::optional(*texts);
}

}  // namespace

ConfigReader::ConfigReader(ConfigLayers& layers) : layers_(layers) {}

ConfigReader::ConfigReader(ConfigLayers& layers, std::string prefix)
    : layers_(layers), prefix_(std::move(prefix)) {}

ConfigReader ConfigReader::section(std::string_view name) {
    return {layers_, prefix_ + std::string(name) + "."};
}

ConfigReader ConfigReader::template_section(std::string_view section) {
    layers_.impl_->free_sections.insert(prefix_ + std::string(section));
    return {layers_, prefix_ + std::string(section) + "." + std::string(kFreeName) + "."};
}

std::vector<std::string> ConfigReader::names(std::string_view section) {
    const std::string path = prefix_ + std::string(section);
    layers_.impl_->free_sections.insert(path);
    return layers_.impl_->names_under(path);
}

void ConfigReader::read_integer(const Setting& setting, std::int64_t& field, std::int64_t min,
                                std::int64_t max) {
    SLUICE_ASSERT(min <= max);
    const Kind<std::int64_t> kind{
        .type = "integer",
        .range = range_text(min, max, format_whole),
        .expected = "a whole number" + from_to(min, max, format_whole),
        .from_text =
            [=](const BareText& v) { return within(parse_whole_number(v.text), min, max); },
        .from_toml =
            [=](const TomlValue& v) {
                const auto* whole = std::get_if<std::int64_t>(&v);
                return within(whole == nullptr ? std::nullopt : std::optional(*whole), min, max);
            },
        .to_toml = format_whole};
    read_setting(*layers_.impl_, prefix_, setting, kind, field);
}

void ConfigReader::number(const Setting& setting, double& field, double min, double max) {
    SLUICE_ASSERT(min <= max);
    const Kind<double> kind{
        .type = "number",
        .range = range_text(min, max, format_decimal),
        .expected = "a number" + from_to(min, max, format_decimal),
        .from_text = [=](const BareText& v) { return within(parse_decimal(v.text), min, max); },
        .from_toml = [=](const TomlValue& v) { return within(number_of(v), min, max); },
        .to_toml = format_decimal};
    read_setting(*layers_.impl_, prefix_, setting, kind, field);
}

void ConfigReader::boolean(const Setting& setting, bool& field) {
    const Kind<bool> kind{.type = "boolean",
                          .range = "",
                          .expected = "true or false",
                          .from_text = [](const BareText& v) { return parse_switch(v.text); },
                          .from_toml =
                              [](const TomlValue& v) {
                                  const auto* boolean = std::get_if<bool>(&v);
                                  return boolean == nullptr ? std::nullopt
                                                            : std::optional(*boolean);
                              },
                          .to_toml = [](bool v) { return std::string(v ? "true" : "false"); }};
    read_setting(*layers_.impl_, prefix_, setting, kind, field);
}

void ConfigReader::duration(const Setting& setting, Millis& field, Millis min, Millis max) {
    SLUICE_ASSERT(min <= max);
    const bool in_seconds = setting.key.ends_with("_s");
    const Kind<Millis> kind{
        .type = "duration",
        .range = format_duration(min) + ".." + format_duration(max),
        .expected = "a duration from " + format_duration(min) + " to " + format_duration(max) +
                    " (seconds, or text such as \"250ms\" or \"15m\")",
        .from_text = [=](const BareText& v) { return within(parse_duration(v.text), min, max); },
        .from_toml = [=](const TomlValue& v) { return within(duration_of(v), min, max); },
        .to_toml =
            [=](Millis v) {
                return in_seconds ? format_seconds(v) : toml_string(format_duration(v));
            }};
    read_setting(*layers_.impl_, prefix_, setting, kind, field);
}

void ConfigReader::size(const Setting& setting, std::size_t& field, std::size_t min,
                        std::size_t max) {
    SLUICE_ASSERT(min <= max);
    const Kind<std::size_t> kind{
        .type = "size",
        .range = range_text(min, max, format_size),
        .expected =
            "a size" + from_to(min, max, format_size) + " (bytes, or text such as \"64KiB\")",
        .from_text =
            [=](const BareText& v) {
                return within(std::optional<std::size_t>(parse_size(v.text)), min, max);
            },
        .from_toml = [=](const TomlValue& v) { return within(size_of(v), min, max); },
        .to_toml =
            [](std::size_t v) {
                const std::string formatted = format_size(v);
                return formatted == std::to_string(v) ? formatted : toml_string(formatted);
            }};
    read_setting(*layers_.impl_, prefix_, setting, kind, field);
}

void ConfigReader::text(const Setting& setting, std::string& field) {
    const Kind<std::string> kind{
        .type = "text",
        .range = "",
        .expected = "text in quotes",
        .from_text = [](const BareText& v) { return std::optional(v.text); },
        .from_toml = text_of,
        .to_toml = [](const std::string& v) { return toml_string(without_password(v)); }};
    read_setting(*layers_.impl_, prefix_, setting, kind, field);
}

void ConfigReader::secret(const Setting& setting, Secret& field) {
    const Kind<Secret> kind{
        .type = "secret",
        .range = "",
        .expected = "text in quotes",
        .secret = true,
        .from_text = [](const BareText& v) { return std::optional(Secret(v.text)); },
        .from_toml =
            [](const TomlValue& v) {
                const std::optional<std::string> text = text_of(v);
                return text ? std::optional(Secret(*text)) : std::nullopt;
            },
        .to_toml = [](const Secret& v) { return std::string(v.empty() ? "\"\"" : kMask); }};
    read_setting(*layers_.impl_, prefix_, setting, kind, field);
}

void ConfigReader::list(const Setting& setting, std::vector<std::string>& field) {
    const Kind<std::vector<std::string>> kind{
        .type = "list",
        .range = "",
        .expected = "an array of texts, or text with commas",
        .from_text = [](const BareText& v) { return std::optional(split_texts(v.text)); },
        .from_toml = list_of,
        .to_toml = toml_list};
    read_setting(*layers_.impl_, prefix_, setting, kind, field);
}

void ConfigReader::read_choice(const Setting& setting, std::size_t& index,
                               const std::vector<std::string_view>& names) {
    SLUICE_ASSERT(index < names.size());
    std::string words;
    for (const std::string_view name : names) {
        words.append(words.empty() ? "" : ", ").append(name);
    }
    const auto find_word = [&](std::string_view word) -> std::optional<std::size_t> {
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (names[i] == word) {
                return i;
            }
        }
        return std::nullopt;
    };
    const Kind<std::size_t> kind{
        .type = "one of " + words,
        .range = "",
        .expected = "one of " + words,
        .from_text = [&](const BareText& v) { return find_word(trim(v.text)); },
        .from_toml =
            [&](const TomlValue& v) {
                const auto* word = std::get_if<std::string>(&v);
                return word == nullptr ? std::nullopt : find_word(*word);
            },
        .to_toml = [&](std::size_t i) { return toml_string(names[i]); }};
    read_setting(*layers_.impl_, prefix_, setting, kind, index);
}

void ConfigReader::fail(std::string_view key, std::string message) {
    if (prefix_.find(kFreeName) != std::string::npos) {
        return;
    }
    const std::string path = prefix_ + std::string(key);
    layers_.impl_->record(layers_.impl_->place_of(path), path, std::move(message));
}

void ConfigReader::explain_absent(std::string_view key, std::string message) {
    layers_.impl_->absent.emplace(prefix_ + std::string(key), std::move(message));
}

}  // namespace sluice
