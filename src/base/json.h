// JSON in and out. Reading is bounded in size and depth before anything is built (simdjson's DOM
// underneath); writing appends to a string without an intermediate tree.
#pragma once

#include "base/result.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

class JsonElements;

// A value inside the document of a JsonReader. Valid until that reader parses again or is
// destroyed. Reading it as the wrong type gives nothing; it never throws.
class JsonValue {
 public:
    enum class Type : std::uint8_t { kNull, kBoolean, kInteger, kNumber, kString, kArray, kObject };

    Type type() const;
    bool is_null() const { return type() == Type::kNull; }
    bool is_object() const { return type() == Type::kObject; }
    bool is_array() const { return type() == Type::kArray; }
    bool is_string() const { return type() == Type::kString; }

    std::optional<std::string_view> as_string() const;
    // Integers that fit, 2.0 and 1e3 included; a number with a fraction or beyond 64 bits gives
    // nothing.
    std::optional<std::int64_t> as_integer() const;
    // Any number.
    std::optional<double> as_number() const;
    std::optional<bool> as_boolean() const;

    // The member of that name, of an object; of several, the first. It is looked for among the
    // first kMaxMembers.
    std::optional<JsonValue> find(std::string_view key) const;
    // The same, one step after another: find("answerBox", "snippet").
    template <class... More>
        requires(sizeof...(More) > 0)
    std::optional<JsonValue> find(std::string_view key, More... more) const {
        auto next = find(key);
        return next ? next->find(more...) : std::nullopt;
    }
    // The string at that path, or an empty view.
    template <class... Path>
    std::string_view string_at(Path... path) const {
        auto value = find(path...);
        return value ? value->as_string().value_or(std::string_view()) : std::string_view();
    }

    // Of an array, the first `most`; else empty. Nothing is copied. Who reads what others wrote
    // says how many are wanted: a document of megabytes has millions.
    JsonElements elements(std::size_t most = std::numeric_limits<std::size_t>::max()) const;
    std::vector<std::pair<std::string_view, JsonValue>> members()
        const;  // of an object, else empty

    static constexpr std::size_t kMaxMembers = 1024;

 private:
    friend class JsonReader;
    friend class JsonElements;
    JsonValue() = default;
    template <class Element>
    static JsonValue of(const Element& element);
    template <class Element>
    Element as() const;

    alignas(8) std::byte element_[16];  // a simdjson element, whose header stays out of this one
};

// The elements of an array in order, as far as they were asked for.
class JsonElements {
 public:
    class Iterator {
     public:
        using value_type = JsonValue;
        using difference_type = std::ptrdiff_t;

        Iterator() = default;
        JsonValue operator*() const;
        Iterator& operator++();
        Iterator operator++(int) {
            const Iterator before = *this;
            ++*this;
            return before;
        }
        bool operator==(const Iterator& other) const { return left_ == other.left_; }

     private:
        friend class JsonElements;
        friend class JsonValue;
        alignas(8) std::byte place_[16] = {};  // a simdjson iterator
        std::size_t left_ = 0;
    };

    Iterator begin() const { return begin_; }
    static Iterator end() { return {}; }
    bool empty() const { return size() == 0; }
    std::size_t size() const { return begin_.left_; }
    JsonValue front() const { return *begin_; }  // not of an empty one

 private:
    friend class JsonValue;

    Iterator begin_;
};

struct JsonLimits {
    std::size_t max_bytes = 1024 * 1024;
    std::size_t max_depth = 32;  // arrays and objects inside each other; an empty one is a leaf
};

// Keeps its buffers between documents, so give each thread one and reuse it: about fifteen times
// the bytes of the largest document, up to kKeptBytes of it. Not thread-safe.
class JsonReader {
 public:
    explicit JsonReader(JsonLimits limits = {});
    ~JsonReader();
    JsonReader(JsonReader&&) noexcept;
    JsonReader& operator=(JsonReader&&) noexcept;

    // kInvalidRequest when it is not one JSON document in UTF-8 or is nested too deep, and
    // kPayloadTooLarge past max_bytes. The message says what and where, without quoting the input.
    // Blame is kCaller: who reads a provider's answer changes it.
    Result<JsonValue> parse(std::string_view bytes);

    // Gives back what a document larger than kKeptBytes took; the next parse() would do it too. The
    // values of that document are gone afterwards. Costs nothing after an ordinary document.
    void shrink();

    static constexpr std::size_t kKeptBytes = 128 * 1024;

    // The size of document that the buffers have room for.
    std::size_t capacity() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Appends one JSON value to a string. It places commas and escapes; calls must nest properly, at
// most 64 deep, which is asserted. Bytes that are not UTF-8 are written as U+FFFD, and NaN and
// infinities as null. `out` must outlive it.
class JsonWriter {
 public:
    explicit JsonWriter(std::string& out) : out_(out) {}

    JsonWriter& begin_object();
    JsonWriter& end_object();
    JsonWriter& begin_array();
    JsonWriter& end_array();
    JsonWriter& key(std::string_view name);

    JsonWriter& value(std::string_view text);
    JsonWriter& value(const char* text) { return value(std::string_view(text)); }
    JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
    JsonWriter& value(double number);  // shortest form that reads back the same
    JsonWriter& value(bool boolean);
    template <std::integral T>
        requires(!std::same_as<T, bool>)
    JsonWriter& value(T number) {
        if constexpr (std::is_signed_v<T>) {
            return integer(static_cast<std::int64_t>(number));
        } else {
            return unsigned_integer(static_cast<std::uint64_t>(number));
        }
    }
    JsonWriter& value(const std::vector<std::string>& texts);  // an array
    JsonWriter& null();
    // Bytes that are one JSON value already.
    JsonWriter& raw(std::string_view json);

    template <class T>
    JsonWriter& field(std::string_view name, const T& what) {
        key(name);
        return value(what);
    }

 private:
    JsonWriter& integer(std::int64_t number);
    JsonWriter& unsigned_integer(std::uint64_t number);
    // Before each value: the comma if one is due, and the check that a value may stand here.
    void separate();
    enum class Container : bool { kArray, kObject };
    void open(Container kind);
    void close(Container kind);
    bool in_object() const;

    std::string& out_;
    std::uint64_t objects_ = 0;  // bit n: the container at depth n + 1 is an object
    std::size_t depth_ = 0;
    bool need_comma_ = false;
    bool after_key_ = false;
};

// The same document with a line for each member and element, two blanks deeper for each level. For
// what JsonReader has read or JsonWriter has written: on other text the lines fall anywhere.
std::string indented_json(std::string_view json);

// Appends `text` as a quoted, escaped JSON string.
void append_json_string(std::string& out, std::string_view text);

}  // namespace sluice
