// YAML in: the part of it that people write configuration in. No anchors, aliases and tags, which
// a small file could grow without bound by; one document; no member twice. Any thread.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::app {

struct YamlMember;

struct YamlNode {
    enum class Kind : std::uint8_t { kNull, kText, kList, kMap };
    Kind kind = Kind::kNull;
    std::size_t line = 1;             // where it begins
    std::string text = {};            // of kText
    bool is_quoted = false;           // the text is no number, and no true or false
    std::vector<YamlNode> items;      // of kList
    std::vector<YamlMember> members;  // of kMap, in order
};

struct YamlMember {
    std::string name;
    std::size_t line = 1;
    YamlNode value;
};

inline constexpr std::size_t kMaxYamlBytes = std::size_t{1024} * 1024;
inline constexpr std::size_t kMaxYamlDepth = 16;
inline constexpr std::size_t kMaxYamlNodes = 100'000;
inline constexpr std::size_t kMaxYamlMembers = 1'000;  // of one map

struct YamlError {
    std::size_t line = 1;
    std::string message;
};

// The document in `text`; kNull when there is nothing but comments, and where it can't be
// read: then one error says why.
YamlNode parse_yaml(std::string_view text, std::vector<YamlError>& errors);

// The node as one JSON value: what is not quoted and reads as a number, true or false is one (the
// core schema of YAML 1.2).
std::string yaml_to_json(const YamlNode& node);

// Whether it is a text there: `2024` is none, `"2024"` is one.
bool is_yaml_text(const YamlNode& node);

}  // namespace sluice::app
