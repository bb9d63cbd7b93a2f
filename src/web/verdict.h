// What has to follow from an answer that is not a result list, and the rows that say so. A table of
// rows is read from the top and the first match wins; whose table comes first is in web/blame.h.
#pragma once

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "io/http_client.h"
#include "web/types.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::web {

enum class Effect : std::uint8_t {
    kCool,        // this key rests for `penalty`; next key
    kExhaust,     // this key's quota is used up until `penalty` has passed; next key
    kQuarantine,  // this key is refused; next key
    kKeyCannot,   // this key's plan lacks something; key untouched; next key
    kCaller,      // the request itself is refused: stop, nobody else is asked
    kProvider,    // the provider is at fault; keys untouched; next provider
    kGateway,     // our way to it is at fault; keys and circuit untouched; next provider
    kEmpty,       // a valid answer without results
};

// How much a penalty covers.
enum class Reach : std::uint8_t {
    kKey,
    kAccount,   // every key with the same account label; the key alone when it has none
    kProvider,  // whatever key is used, the provider is not to be asked; no key is to blame
};

// Whether the same key may be used again at once.
enum class Again : std::uint8_t {
    kNo,
    kWithoutOption,  // once, without what its plan lacks: see BuildVariant
};

struct Verdict {
    Effect effect = Effect::kProvider;
    Outcome outcome = Outcome::kServerError;
    std::optional<Millis> penalty = {};  // for kCool and kExhaust; empty: the configured default
    // For people: the provider's own words, or ours where it has none. What leaves judge() is one
    // line of valid UTF-8, at most 200 bytes, without the key's secret and the query.
    std::string detail = {};
    Reach reach = Reach::kKey;  // of kCool, kExhaust and kQuarantine
    Again again = Again::kNo;   // of kKeyCannot
};

Blame blame_of(Effect effect);  // kEmpty has no blame: asserted

enum class BodyKind : std::uint8_t {
    kJson,    // an object or an array
    kEmpty,   //
    kMarkup,  // a page
    kOther,   //
};

// What a row looks at. Refers to objects of the caller.
struct Signal {
    const io::ClientResponse& response;
    BodyKind kind;
    const std::optional<JsonValue>& json;  // with kJson
    WallTime wall_now;                     // for quotas that are reset by the calendar

    // The string at that path of a JSON body, its first kMaxTextBytes; or an empty view.
    template <class... Path>
    std::string_view text(Path... path) const {
        return json ? json->string_at(path...).substr(0, kMaxTextBytes) : std::string_view();
    }
    static constexpr std::size_t kMaxTextBytes = 4096;
};

// One status, or all from the first to the last.
struct Statuses {
    int first;
    int last;

    constexpr Statuses(int status) : first(status), last(status) {}
    constexpr Statuses(int from, int to) : first(from), last(to) {}
    constexpr bool hold(int status) const { return first <= status && status <= last; }
};

// One row: which answers it is about, and what follows from them.
struct BlameRow {
    Statuses status;
    bool (*when)(const Signal& signal) = nullptr;  // nothing: every answer of that status
    Effect effect;
    Outcome outcome;
    Reach reach = Reach::kKey;
    // How long a key rests. Nothing, or no result: what Retry-After asks for, else what is
    // configured.
    std::optional<Millis> (*penalty)(const Signal& signal) = nullptr;
    Again again = Again::kNo;

    bool matches(const Signal& signal) const {
        return status.hold(signal.response.status) && (when == nullptr || when(signal));
    }
};

}  // namespace sluice::web
