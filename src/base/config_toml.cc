#include "base/config_toml.h"

#include "base/text.h"

#include <toml++/toml.h>

#include <algorithm>
#include <tuple>

namespace sluice {

namespace {

// The library makes a table of each part of a dotted key and frees them recursively, so a line of
// dots alone could use up the stack.
constexpr std::size_t kMaxDotsInLine = 2000;

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Names must survive in a dotted path and, in capitals, between the double underscores of an
// environment variable.
bool is_name(std::string_view key) {
    if (key.empty() || !is_letter_or_digit(key.front()) || key.back() == '_') {
        return false;
    }
    const bool plain = std::all_of(key.begin(), key.end(), [](char c) {
        return is_letter_or_digit(c) || c == '_' || c == '-';
    });
    return plain && key.find("__") == std::string_view::npos;
}

std::uint32_t first_line_with_many_dots(std::string_view text) {
    std::uint32_t line = 1;
    std::size_t dots = 0;
    for (const char c : text) {
        if (c == '\n') {
            line += 1;
            dots = 0;
        } else if (c == '.' && ++dots > kMaxDotsInLine) {
            return line;
        }
    }
    return 0;
}

// The library's reason without what it quotes of values, which may be secrets. Keys and single
// characters are left in.
std::string without_values(std::string_view reason) {
    const bool names_keys = reason.find("redefine") != std::string_view::npos ||
                            reason.find("cannot insert") != std::string_view::npos;
    std::string kept;
    while (!reason.empty()) {
        const std::size_t open = reason.find('\'');
        const std::size_t close =
            open == std::string_view::npos ? open : reason.find('\'', open + 1);
        if (names_keys || close == std::string_view::npos) {
            return kept.append(reason);
        }
        constexpr std::size_t kLongestEscape = 10;  // \U0010FFFF
        const std::size_t length = close - open - 1;
        kept.append(reason.substr(0, open + 1));
        kept.append(length <= kLongestEscape && (length <= 1 || reason[open + 1] == '\\')
                        ? reason.substr(open + 1, length)
                        : "...");
        kept.push_back('\'');
        reason.remove_prefix(close + 1);
    }
    return kept;
}

TomlValue convert_array(const toml::array& array) {
    std::vector<std::string> texts;
    for (const toml::node& element : array) {
        if (element.is_table()) {
            return TomlOther{"an array of tables"};
        }
        if (!element.is_string()) {
            return TomlOther{"an array of something else than text"};
        }
        texts.push_back(element.as_string()->get());
    }
    return texts;
}

TomlValue convert(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::string:
            return node.as_string()->get();
        case toml::node_type::integer:
            return node.as_integer()->get();
        case toml::node_type::floating_point:
            return node.as_floating_point()->get();
        case toml::node_type::boolean:
            return node.as_boolean()->get();
        case toml::node_type::array:
            return convert_array(*node.as_array());
        case toml::node_type::table:
            return TomlOther{"a table", true};
        default:
            return TomlOther{"a date or time"};
    }
}

// Recursion is bounded by kMaxTomlDepth.
void flatten(const toml::table& table, const std::string& prefix, std::size_t depth,
             TomlDocument& out) {
    for (const auto& [key, node] : table) {
        const std::uint32_t line = key.source().begin.line;
        if (!is_name(key.str())) {
            out.mistakes.push_back(
                {line, prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1),
                 "a key here is not a name: letters, digits, single '_' and '-', beginning with a "
                 "letter or digit"});
            continue;
        }
        const std::string path = prefix + std::string(key.str());
        out.entries.push_back({path, line, convert(node)});
        if (!node.is_table()) {
            continue;
        }
        if (depth == kMaxTomlDepth) {
            out.mistakes.push_back({line, path, "tables nested deeper than any setting is"});
            continue;
        }
        flatten(*node.as_table(), path + ".", depth + 1, out);
    }
}

}  // namespace

TomlDocument parse_toml(std::string_view text) {
    TomlDocument document;
    if (text.size() > kMaxTomlBytes) {
        document.mistakes.push_back(
            {0, "", "larger than " + std::to_string(kMaxTomlBytes) + " bytes"});
        return document;
    }
    if (const std::uint32_t line = first_line_with_many_dots(text); line != 0) {
        document.mistakes.push_back({line, "", "a line with too many dots"});
        return document;
    }
    try {
        flatten(toml::parse(text), "", 1, document);
    } catch (const toml::parse_error& error) {
        std::string reason = without_values(error.description());
        reason[0] = to_lower(reason.substr(0, 1))[0];  // it stands inside a sentence here
        document.mistakes.push_back(
            {error.source().begin.line, "", "not valid TOML: " + std::move(reason)});
    }
    // The library keeps tables sorted by key.
    std::sort(document.entries.begin(), document.entries.end(),
              [](const TomlEntry& a, const TomlEntry& b) {
                  return std::tie(a.line, a.path) < std::tie(b.line, b.path);
              });
    return document;
}

}  // namespace sluice
