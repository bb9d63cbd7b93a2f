// A TOML document as a flat list of dotted paths, in the order of its lines. Keeps the TOML library
// out of everything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice {

// What a setting can't be: a table, a date, a mixed array. `what` is for messages: "a table".
struct TomlOther {
    std::string_view what;
    bool is_table = false;
};

using TomlValue =
    std::variant<std::string, std::int64_t, double, bool, std::vector<std::string>, TomlOther>;

struct TomlEntry {
    std::string path;  // "server.listen"; tables have an entry of their own, before their keys
    std::uint32_t line = 0;
    TomlValue value;
};

struct TomlMistake {
    std::uint32_t line = 0;
    std::string path;     // empty when the document is not TOML at all
    std::string message;  // never quotes a value
};

struct TomlDocument {
    std::vector<TomlEntry> entries;
    std::vector<TomlMistake> mistakes;
};

// Bounded: at most kMaxTomlBytes of text and kMaxTomlDepth tables inside each other. After a syntax
// error there are no entries; a key that can't be a setting's name is a mistake and left out.
TomlDocument parse_toml(std::string_view text);

inline constexpr std::size_t kMaxTomlBytes = 1024 * 1024;
inline constexpr std::size_t kMaxTomlDepth = 8;

}  // namespace sluice
