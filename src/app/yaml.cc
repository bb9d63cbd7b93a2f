#include "app/yaml.h"

#include "base/json.h"
#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <utility>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace sluice::app {

namespace {

// Leaves the parser from within a call of its own.
struct Refused {
    YamlError error;
};

std::size_t line_of(const YAML::Mark& mark) {
    return mark.line < 0 ? 1 : static_cast<std::size_t>(mark.line) + 1;
}

[[noreturn]] void refuse(const YAML::Mark& mark, std::string message) {
    throw Refused{{line_of(mark), std::move(message)}};
}

// Builds the tree. What is open stands on a stack, with the name of the member that comes next.
class TreeBuilder final : public YAML::EventHandler {
 public:
    YamlNode take() { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (begun_) {
            refuse(mark, "expected one document; a second one begins here");
        }
        begun_ = true;
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        check(mark, {}, anchor);
        put(mark, node_at(mark, YamlNode::Kind::kNull));
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
        refuse(mark, "aliases (*name) are not taken; write it out");
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        check(mark, tag, anchor);
        YamlNode node = node_at(mark, YamlNode::Kind::kText);
        node.text = value;
        node.is_quoted = tag == "!";
        put(mark, std::move(node));
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value /*style*/) override {
        check(mark, tag, anchor);
        open(mark, YamlNode::Kind::kList);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value /*style*/) override {
        check(mark, tag, anchor);
        open(mark, YamlNode::Kind::kMap);
    }
    void OnMapEnd() override { close(); }

 private:
    struct Open {
        YAML::Mark mark;
        YamlNode node;
        std::optional<YamlMember> member;  // whose value comes next
    };

    void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
        if (anchor != YAML::NullAnchor) {
            refuse(mark, "anchors (&name) are not taken; write it out where it is needed");
        }
        if (!tag.empty() && tag != "?" && tag != "!") {
            refuse(mark, "tags (!name) are not taken");
        }
        if (++nodes_ > kMaxYamlNodes) {
            refuse(mark, "expected at most " + std::to_string(kMaxYamlNodes) + " values");
        }
    }

    static YamlNode node_at(const YAML::Mark& mark, YamlNode::Kind kind) {
        YamlNode node;
        node.kind = kind;
        node.line = line_of(mark);
        return node;
    }

    void open(const YAML::Mark& mark, YamlNode::Kind kind) {
        if (open_.size() == kMaxYamlDepth) {
            refuse(mark, "nested deeper than " + std::to_string(kMaxYamlDepth) + " levels");
        }
        open_.push_back({mark, node_at(mark, kind), {}});
    }

    void close() {
        Open done = std::move(open_.back());
        open_.pop_back();
        put(done.mark, std::move(done.node));
    }

    void put(const YAML::Mark& mark, YamlNode node) {
        if (open_.empty()) {
            root_ = std::move(node);
            return;
        }
        Open& into = open_.back();
        if (into.node.kind == YamlNode::Kind::kList) {
            into.node.items.push_back(std::move(node));
        } else if (!into.member) {
            begin_member(mark, into, std::move(node));
        } else {
            into.member->value = std::move(node);
            into.node.members.push_back(*std::exchange(into.member, std::nullopt));
        }
    }

    static void begin_member(const YAML::Mark& mark, Open& into, YamlNode name) {
        if (name.kind != YamlNode::Kind::kText) {
            refuse(mark, "expected the name of a member");
        }
        if (into.node.members.size() == kMaxYamlMembers) {
            refuse(mark, "expected at most " + std::to_string(kMaxYamlMembers) + " members");
        }
        for (const YamlMember& other : into.node.members) {
            if (other.name == name.text) {
                refuse(mark,
                       "the same member stands on line " + std::to_string(other.line) + " already");
            }
        }
        into.member = YamlMember{std::move(name.text), name.line, {}};
    }

    bool begun_ = false;
    std::size_t nodes_ = 0;
    std::vector<Open> open_;
    YamlNode root_;
};

// Before the parser sees it: it would guess another encoding from some of these.
std::optional<YamlError> check_bytes(std::string_view text) {
    if (text.size() > kMaxYamlBytes) {
        return YamlError{1, "expected at most " + std::to_string(kMaxYamlBytes) + " bytes"};
    }
    if (!is_valid_utf8(text)) {
        return YamlError{1, "expected UTF-8"};
    }
    std::size_t line = 1;
    for (const char c : text) {
        line += c == '\n' ? 1 : 0;
        const auto byte = static_cast<unsigned char>(c);
        if ((byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7F) {
            return YamlError{line, "expected text; there is a control character here"};
        }
    }
    return std::nullopt;
}

// Of the line at `last` and the one before it, the first that is indented by a tab: the parser
// tells what it made of it, often a line later. Further up tabs did no harm, as in a text of
// several lines.
std::optional<std::size_t> tab_before(std::string_view text, std::size_t last) {
    for (std::size_t line = 1; line <= last && !text.empty(); ++line) {
        const std::string_view indentation = text.substr(0, text.find_first_not_of(" \t"));
        if (line + 1 >= last && indentation.find('\t') != std::string_view::npos) {
            return line;
        }
        text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    }
    return std::nullopt;
}

// Within brackets and braces blanks of any kind may stand in front.
bool is_of_brackets(const YAML::Exception& error) {
    return error.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW ||
           error.msg == YAML::ErrorMsg::END_OF_MAP_FLOW;
}

// The parser's own words may quote what it read.
std::string printable(std::string text) {
    std::ranges::replace_if(text, [](char c) { return !is_printable_ascii(c); }, '?');
    return text;
}

void write_plain(JsonWriter& json, const std::string& text) {
    if (text == "true" || text == "True" || text == "TRUE") {
        json.value(true);
        return;
    }
    if (text == "false" || text == "False" || text == "FALSE") {
        json.value(false);
        return;
    }
    const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const char* const end = text.data() + text.size();
    std::int64_t integer = 0;
    if (const auto read = std::from_chars(begin, end, integer);
        read.ec == std::errc() && read.ptr == end) {
        json.value(integer);
        return;
    }
    double number = 0;
    if (const auto read = std::from_chars(begin, end, number);
        read.ec == std::errc() && read.ptr == end && std::isfinite(number)) {
        json.value(number);
        return;
    }
    json.value(text);
}

void write(JsonWriter& json, const YamlNode& node) {
    switch (node.kind) {
        case YamlNode::Kind::kNull:
            json.null();
            return;
        case YamlNode::Kind::kText:
            if (node.is_quoted) {
                json.value(node.text);
            } else {
                write_plain(json, node.text);
            }
            return;
        case YamlNode::Kind::kList:
            json.begin_array();
            for (const YamlNode& item : node.items) {
                write(json, item);
            }
            json.end_array();
            return;
        case YamlNode::Kind::kMap:
            json.begin_object();
            for (const YamlMember& member : node.members) {
                json.key(member.name);
                write(json, member.value);
            }
            json.end_object();
            return;
    }
    SLUICE_ASSERT(false && "a Kind outside its enumeration");
}

}  // namespace

YamlNode parse_yaml(std::string_view text, std::vector<YamlError>& errors) {
    if (auto error = check_bytes(text)) {
        errors.push_back(*std::move(error));
        return {};
    }
    try {
        std::istringstream in{std::string(text)};
        YAML::Parser parser(in);
        TreeBuilder builder;
        while (parser.HandleNextDocument(builder)) {
        }
        return builder.take();
    } catch (const Refused& refused) {
        errors.push_back(refused.error);
    } catch (const YAML::Exception& error) {
        const std::size_t line = line_of(error.mark);
        if (const auto tab = tab_before(text, line); tab && !is_of_brackets(error)) {
            errors.push_back({*tab, "a tab stands in front of the text; YAML takes blanks there"});
        } else {
            errors.push_back({line, printable(error.msg)});
        }
    }
    return {};
}

bool is_yaml_text(const YamlNode& node) {
    return node.kind == YamlNode::Kind::kText && yaml_to_json(node).starts_with('"');
}

std::string yaml_to_json(const YamlNode& node) {
    std::string out;
    JsonWriter json(out);
    write(json, node);
    return out;
}

}  // namespace sluice::app
