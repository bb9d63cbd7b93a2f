// How adapters read a list of hits: each says where an item keeps its texts, the rest is one rule
// for all.
#pragma once

#include "base/hit.h"
#include "base/json.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {

// Of a list in a provider's answer, so many items are looked at. None that we asked for is longer.
inline constexpr std::size_t kMaxItemsRead = 512;

// How an item's title, snippet and content are written.
enum class TextForm : std::uint8_t { kPlain, kHtml };

// The texts of one item as the provider sent them, pointing into its JSON. An absent one is empty.
struct RawHit {
    std::string_view url;
    std::string_view title;
    std::string_view snippet;
    std::string_view content = {};
    std::optional<double> score = {};
    std::string_view published = {};  // in the provider's own form
    // In place of `snippet` and `content`, where the provider sends several passages.
    std::string joined_snippet = {};
    std::string joined_content = {};
    TextForm form = TextForm::kPlain;
};

// The texts of the array `passages`, the separator between them; others than texts are left out. It
// ends soon after kMaxContentBytes.
std::string join_texts(const std::optional<JsonValue>& passages, std::string_view separator);

// Up to `max_hits` hits of the array `list`, in its order and with its texts cleaned and cut as
// web/plain_text.h says. An item without a usable URL is left out. Nothing when `list` is not an
// array, or has items of which not one is an object with a URL: then the provider has changed its
// shape, which must not pass for a search without results.
std::optional<std::vector<Hit>> read_hits(const JsonValue& list, std::size_t max_hits,
                                          RawHit (*read)(const JsonValue& item));

}  // namespace sluice::web
