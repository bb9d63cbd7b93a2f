#include "web/answer_codec.h"

#include "web/provider.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::web {

namespace {

// To be raised with every change of what follows: replicas of both versions then pass over each
// other's entries.
constexpr char kVersion = 1;

constexpr std::size_t kMaxItems = 1'000;  // in any list
constexpr std::size_t kNumberBytes = 8;
// The least that a hit takes: six texts, a rank, two flags and a count.
constexpr std::size_t kLeastHitBytes = 8 * kNumberBytes + 2;

class Writer {
 public:
    void byte(std::uint8_t value) { out.push_back(static_cast<char>(value)); }
    void number(std::uint64_t value) {
        std::array<char, kNumberBytes> bytes;
        for (std::size_t i = 0; i < kNumberBytes; ++i) {
            bytes[i] = static_cast<char>(value >> (8 * i));
        }
        out.append(bytes.data(), bytes.size());
    }
    void text(std::string_view value) {
        number(value.size());
        out.append(value);
    }
    void optional_text(const std::optional<std::string>& value) {
        byte(value ? 1 : 0);
        if (value) {
            text(*value);
        }
    }

    std::string out;
};

// Once something is wrong everything that is read is empty, and is_whole() says no.
class Reader {
 public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    std::uint8_t byte() {
        if (rest_.empty()) {
            is_good_ = false;
            return 0;
        }
        const auto value = static_cast<std::uint8_t>(rest_.front());
        rest_.remove_prefix(1);
        return value;
    }
    bool flag() {
        const std::uint8_t value = byte();
        is_good_ &= value <= 1;
        return value == 1;
    }
    std::uint64_t number() {
        if (rest_.size() < kNumberBytes) {
            is_good_ = false;
            rest_ = {};
            return 0;
        }
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < kNumberBytes; ++i) {
            value |= std::uint64_t{static_cast<std::uint8_t>(rest_[i])} << (8 * i);
        }
        rest_.remove_prefix(kNumberBytes);
        return value;
    }
    std::uint32_t small_number() {
        const std::uint64_t value = number();
        is_good_ &= value <= UINT32_MAX;
        return is_good_ ? static_cast<std::uint32_t>(value) : 0;
    }
    std::string text() {
        const std::uint64_t size = number();
        is_good_ &= size <= rest_.size();
        if (!is_good_) {
            return {};
        }
        std::string value(rest_.substr(0, size));
        rest_.remove_prefix(size);
        return value;
    }
    std::optional<std::string> optional_text() {
        return flag() ? std::optional(text()) : std::nullopt;
    }
    // How many of so many items the bytes that are left can be at most.
    std::size_t at_most(std::size_t items, std::size_t bytes_each) const {
        return std::min(items, rest_.size() / bytes_each);
    }
    // How many items follow.
    std::size_t count() {
        const std::uint64_t value = number();
        is_good_ &= value <= kMaxItems;
        return is_good_ ? value : 0;
    }
    void fail() { is_good_ = false; }
    bool is_good() const { return is_good_; }
    bool is_whole() const { return is_good_ && rest_.empty(); }

 private:
    std::string_view rest_;
    bool is_good_ = true;
};

void write(Writer& out, const Hit& hit) {
    for (const std::string* text :
         {&hit.url, &hit.title, &hit.snippet, &hit.content, &hit.provider, &hit.site}) {
        out.text(*text);
    }
    out.number(hit.rank);
    out.byte(hit.score ? 1 : 0);
    if (hit.score) {
        out.number(std::bit_cast<std::uint64_t>(*hit.score));
    }
    out.optional_text(hit.published_at);
    out.number(hit.origins.size());
    for (const HitOrigin& origin : hit.origins) {
        out.text(origin.provider);
        out.number(origin.rank);
    }
}

void read_hit(Reader& in, Hit& hit) {
    for (std::string* text :
         {&hit.url, &hit.title, &hit.snippet, &hit.content, &hit.provider, &hit.site}) {
        *text = in.text();
    }
    hit.rank = in.small_number();
    if (in.flag()) {
        hit.score = std::bit_cast<double>(in.number());
    }
    hit.published_at = in.optional_text();
    for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
        HitOrigin origin;
        origin.provider = in.text();
        origin.rank = in.small_number();
        hit.origins.push_back(std::move(origin));
    }
}

Honoured read_honoured(Reader& in) {
    Honoured honoured;
    honoured.constraint = in.text();
    honoured.provider = in.text();
    switch (in.byte()) {
        case 0:
            honoured.how = Honour::kProvider;
            break;
        case 1:
            honoured.how = Honour::kOperator;
            break;
        case 2:
            honoured.how = Honour::kFilter;
            break;
        case 3:
            honoured.how = Honour::kShortened;
            break;
        default:
            in.fail();
            break;
    }
    return honoured;
}

}  // namespace

std::string encode_answer(const SearchAnswer& answer) {
    Writer out;
    out.byte(kVersion);
    out.byte(answer.is_degraded() ? 1 : 0);
    out.text(answer.provider());
    out.optional_text(answer.answer());
    out.number(answer.hits().size());
    for (const Hit& hit : answer.hits()) {
        write(out, hit);
    }
    out.number(answer.constraints().size());
    for (const Honoured& honoured : answer.constraints()) {
        out.text(honoured.constraint);
        out.text(honoured.provider);
        out.byte(static_cast<std::uint8_t>(honoured.how));
    }
    return std::move(out.out);
}

std::shared_ptr<SearchAnswer> decode_answer(std::string_view bytes, const SearchRequest& request,
                                            Instant made_at, Instant keep_until) {
    Reader in(bytes);
    if (in.byte() != static_cast<std::uint8_t>(kVersion)) {
        return nullptr;
    }
    const bool degraded = in.flag();
    std::string provider = in.text();
    auto found = std::make_shared<ProviderAnswer>();
    found->answer = in.optional_text();
    std::size_t left = in.count();
    found->hits.reserve(in.at_most(left, kLeastHitBytes));
    for (; left > 0 && in.is_good(); --left) {
        read_hit(in, found->hits.emplace_back());
    }
    for (left = in.count(); left > 0 && in.is_good(); --left) {
        found->constraints.push_back(read_honoured(in));
    }
    if (!in.is_whole()) {
        return nullptr;
    }
    found->made_at = made_at;
    found->keep_until = keep_until;
    auto answer = std::make_shared<SearchAnswer>(std::string(request.query.reveal()), request.lane,
                                                 std::move(provider), std::move(found));
    if (degraded) {
        answer->mark_degraded();
    }
    return answer;
}

}  // namespace sluice::web
