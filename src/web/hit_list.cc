#include "web/hit_list.h"

#include "web/dates.h"
#include "web/html.h"
#include "web/plain_text.h"

#include <cmath>
#include <string>
#include <utility>

namespace sluice::web {
namespace {

std::string_view first_of(std::string_view preferred, std::string_view other) {
    return preferred.empty() ? other : preferred;
}

Hit make_hit(std::string url, const RawHit& raw) {
    Hit hit;
    hit.url = std::move(url);
    const std::string_view snippet = first_of(raw.joined_snippet, raw.snippet);
    const std::string_view content = first_of(raw.joined_content, raw.content);
    if (raw.form == TextForm::kHtml) {
        hit.title = one_line(text_of_html(looked_at(raw.title, kMaxTitleBytes)), kMaxTitleBytes);
        hit.snippet =
            one_line(text_of_html(looked_at(snippet, kMaxSnippetBytes)), kMaxSnippetBytes);
        hit.content =
            many_lines(text_of_html(looked_at(content, kMaxContentBytes)), kMaxContentBytes);
    } else {
        hit.title = one_line(raw.title, kMaxTitleBytes);
        hit.snippet = one_line(snippet, kMaxSnippetBytes);
        hit.content = many_lines(content, kMaxContentBytes);
    }
    if (raw.score && std::isfinite(*raw.score)) {
        hit.score = raw.score;
    }
    hit.published_at = to_rfc3339(raw.published);
    return hit;
}

}  // namespace

std::string join_texts(const std::optional<JsonValue>& passages, std::string_view separator) {
    std::string joined;
    if (!passages) {
        return joined;
    }
    for (const JsonValue passage : passages->elements(kMaxItemsRead)) {
        const std::string_view text = passage.as_string().value_or(std::string_view());
        if (!text.empty()) {
            joined.append(joined.empty() ? std::string_view() : separator);
            joined.append(text.substr(0, kMaxContentBytes));
        }
        if (joined.size() >= kMaxContentBytes) {
            break;
        }
    }
    return joined;
}

std::optional<std::vector<Hit>> read_hits(const JsonValue& list, std::size_t max_hits,
                                          RawHit (*read)(const JsonValue& item)) {
    if (!list.is_array()) {
        return std::nullopt;
    }
    const JsonElements items = list.elements(kMaxItemsRead);
    std::vector<Hit> hits;
    bool any_of_shape = items.empty();
    for (const JsonValue item : items) {
        if (hits.size() == max_hits) {
            break;
        }
        const RawHit raw = read(item);
        any_of_shape = any_of_shape || !raw.url.empty();
        if (auto url = usable_url(raw.url)) {
            hits.push_back(make_hit(*std::move(url), raw));
        }
    }
    if (!any_of_shape) {
        return std::nullopt;
    }
    return hits;
}

}  // namespace sluice::web
