#include "base/json.h"

#include "base/text.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <type_traits>

namespace sluice {

namespace dom = simdjson::dom;

namespace {

constexpr std::size_t kSmallestCapacity = 4096;

Error invalid(std::string message) {
    return {Code::kInvalidRequest, Blame::kCaller, std::move(message), {}};
}

// The document is known to be ill-formed somewhere.
std::size_t first_invalid_utf8(std::string_view bytes) {
    std::size_t at = 0;
    while (at < bytes.size()) {
        const Utf8Piece piece = first_utf8(bytes.substr(at));
        if (!piece.valid) {
            break;
        }
        at += piece.bytes;
    }
    return at;
}

// simdjson's own messages name its internals; these are for whoever wrote the document.
Error describe(simdjson::error_code error, std::string_view bytes, std::size_t max_depth) {
    switch (error) {
        case simdjson::EMPTY:
            return invalid("JSON: the document is empty");
        case simdjson::UTF8_ERROR:
            return invalid("JSON: not UTF-8 at byte " + std::to_string(first_invalid_utf8(bytes)));
        case simdjson::DEPTH_ERROR:
            return invalid("JSON: nested deeper than " + std::to_string(max_depth) + " levels");
        case simdjson::STRING_ERROR:
            return invalid("JSON: a string has an invalid escape or half a surrogate pair");
        case simdjson::UNESCAPED_CHARS:
            return invalid("JSON: a string has an unescaped control character");
        case simdjson::UNCLOSED_STRING:
            return invalid("JSON: a string is not closed");
        case simdjson::T_ATOM_ERROR:
        case simdjson::F_ATOM_ERROR:
        case simdjson::N_ATOM_ERROR:
            return invalid("JSON: a word that is not true, false or null");
        case simdjson::NUMBER_ERROR:
        case simdjson::NUMBER_OUT_OF_RANGE:
            return invalid("JSON: a number is malformed or out of range");
        case simdjson::MEMALLOC:
            return {Code::kOverloaded, Blame::kGateway, "no memory for a JSON document", {}};
        default:
            return invalid("JSON: the document is malformed");
    }
}

}  // namespace

template <class Element>
JsonValue JsonValue::of(const Element& element) {
    static_assert(std::is_trivially_copyable_v<Element>);
    static_assert(sizeof(Element) == sizeof(element_) && alignof(Element) <= alignof(JsonValue));
    JsonValue value;
    std::memcpy(value.element_, &element, sizeof element);
    return value;
}

template <class Element>
Element JsonValue::as() const {
    Element element;
    std::memcpy(&element, element_, sizeof element);
    return element;
}

JsonValue::Type JsonValue::type() const {
    switch (as<dom::element>().type()) {
        case dom::element_type::ARRAY:
            return Type::kArray;
        case dom::element_type::OBJECT:
            return Type::kObject;
        case dom::element_type::INT64:
        case dom::element_type::UINT64:
            return Type::kInteger;
        case dom::element_type::DOUBLE:
            return Type::kNumber;
        case dom::element_type::STRING:
            return Type::kString;
        case dom::element_type::BOOL:
            return Type::kBoolean;
        case dom::element_type::NULL_VALUE:
            return Type::kNull;
    }
    SLUICE_ASSERT(false && "an element type that simdjson does not have");
}

std::optional<std::string_view> JsonValue::as_string() const {
    std::string_view text;
    if (as<dom::element>().get(text) != simdjson::SUCCESS) {
        return std::nullopt;
    }
    return text;
}

std::optional<std::int64_t> JsonValue::as_integer() const {
    const auto element = as<dom::element>();
    std::int64_t integer = 0;
    if (element.get(integer) == simdjson::SUCCESS) {
        return integer;
    }
    double number = 0;
    if (!element.is<double>() || element.get(number) != simdjson::SUCCESS) {
        return std::nullopt;
    }
    // Past 2^53 a double no longer tells neighbouring integers apart.
    constexpr double kExact = 9007199254740992.0;
    if (std::abs(number) > kExact || std::trunc(number) != number) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(number);
}

std::optional<double> JsonValue::as_number() const {
    double number = 0;
    if (as<dom::element>().get(number) != simdjson::SUCCESS) {
        return std::nullopt;
    }
    return number;
}

std::optional<bool> JsonValue::as_boolean() const {
    bool boolean = false;
    if (as<dom::element>().get(boolean) != simdjson::SUCCESS) {
        return std::nullopt;
    }
    return boolean;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
    dom::object object;
    if (as<dom::element>().get(object) != simdjson::SUCCESS) {
        return std::nullopt;
    }
    std::size_t seen = 0;
    for (auto member = object.begin(); member != object.end(); ++member) {
        if (member.key_equals(key)) {
            return of(member.value());
        }
        if (++seen == kMaxMembers) {
            break;
        }
    }
    return std::nullopt;
}

JsonElements JsonValue::elements(std::size_t most) const {
    JsonElements elements;
    dom::array array;
    if (as<dom::element>().get(array) == simdjson::SUCCESS) {
        // simdjson counts no further than this in one look.
        constexpr std::size_t kCounted = 0xFFFFFF;
        std::size_t size = array.size();
        if (size == kCounted && most > kCounted) {
            size = static_cast<std::size_t>(std::distance(array.begin(), array.end()));
        }
        const dom::array::iterator first = array.begin();
        static_assert(std::is_trivially_copyable_v<dom::array::iterator>);
        static_assert(sizeof first == sizeof elements.begin_.place_);
        std::memcpy(elements.begin_.place_, &first, sizeof first);
        elements.begin_.left_ = std::min(size, most);
    }
    return elements;
}

JsonValue JsonElements::Iterator::operator*() const {
    SLUICE_ASSERT(left_ > 0);
    dom::array::iterator place;
    std::memcpy(&place, place_, sizeof place);
    return JsonValue::of(*place);
}

JsonElements::Iterator& JsonElements::Iterator::operator++() {
    SLUICE_ASSERT(left_ > 0);
    dom::array::iterator place;
    std::memcpy(&place, place_, sizeof place);
    ++place;
    std::memcpy(place_, &place, sizeof place);
    left_ -= 1;
    return *this;
}

std::vector<std::pair<std::string_view, JsonValue>> JsonValue::members() const {
    std::vector<std::pair<std::string_view, JsonValue>> members;
    dom::object object;
    if (as<dom::element>().get(object) == simdjson::SUCCESS) {
        members.reserve(object.size());
        for (const dom::key_value_pair member : object) {
            members.emplace_back(member.key, of(member.value));
        }
    }
    return members;
}

struct JsonReader::Impl {
    explicit Impl(JsonLimits l) : limits(l), parser(l.max_bytes) {}

    // Room for a document of `bytes`, in powers of two so that growing is rare.
    simdjson::error_code reserve(std::size_t bytes) {
        const std::size_t wanted =
            std::min(std::max(std::bit_ceil(bytes), kSmallestCapacity), limits.max_bytes);
        if (parser.capacity() >= wanted) {
            return simdjson::SUCCESS;
        }
        // simdjson wants one level more than it lets containers nest.
        const simdjson::error_code error = parser.allocate(wanted, limits.max_depth + 1);
        return error != simdjson::SUCCESS ? error : parser.doc.allocate(wanted);
    }

    JsonLimits limits;
    dom::parser parser;
};

JsonReader::JsonReader(JsonLimits limits) : impl_(std::make_unique<Impl>(limits)) {
    // simdjson counts positions in 32 bits.
    SLUICE_ASSERT(limits.max_bytes >= 64 && limits.max_bytes <= simdjson::SIMDJSON_MAXSIZE_BYTES);
    SLUICE_ASSERT(limits.max_depth >= 1);
}

JsonReader::~JsonReader() = default;
JsonReader::JsonReader(JsonReader&&) noexcept = default;
JsonReader& JsonReader::operator=(JsonReader&&) noexcept = default;

std::size_t JsonReader::capacity() const {
    return impl_->parser.capacity();
}

void JsonReader::shrink() {
    if (impl_->parser.capacity() > kKeptBytes) {
        impl_ = std::make_unique<Impl>(impl_->limits);
    }
}

Result<JsonValue> JsonReader::parse(std::string_view bytes) {
    const JsonLimits limits = impl_->limits;
    if (bytes.empty()) {
        return describe(simdjson::EMPTY, bytes, limits.max_depth);
    }
    if (bytes.size() > limits.max_bytes) {
        return Error{
            Code::kPayloadTooLarge,
            Blame::kCaller,
            "JSON: the document is larger than " + std::to_string(limits.max_bytes) + " bytes",
            {}};
    }
    if (bytes.size() <= kKeptBytes) {
        shrink();
    }
    if (const auto error = impl_->reserve(bytes.size()); error != simdjson::SUCCESS) {
        return describe(error, bytes, limits.max_depth);
    }
    dom::element root;
    // simdjson reads past the end of its input, so it copies the bytes into a padded buffer.
    const auto error = impl_->parser.parse(bytes.data(), bytes.size(), true).get(root);
    if (error != simdjson::SUCCESS) {
        return describe(error, bytes, limits.max_depth);
    }
    return JsonValue::of(root);
}

}  // namespace sluice
