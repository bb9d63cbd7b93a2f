#include "web/fusion.h"

#include "web/canonical_url.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace sluice::web {

namespace {

// One page, as far as it is known.
struct Page {
    Hit hit;  // of the list that ranks it highest
    double score = 0;
    std::size_t place = 0;  // among the pages, in the order in which they were met
};

bool has_it_from(const Hit& hit, const std::string& provider) {
    return std::any_of(hit.origins.begin(), hit.origins.end(),
                       [&](const HitOrigin& origin) { return origin.provider == provider; });
}

// What `hit` lacks and `other` has.
void complete(Hit& hit, Hit& other) {
    if (hit.title.empty()) {
        hit.title = std::move(other.title);
    }
    if (hit.snippet.empty()) {
        hit.snippet = std::move(other.snippet);
    }
    if (hit.content.empty()) {
        hit.content = std::move(other.content);
    }
    if (!hit.published_at) {
        hit.published_at = std::move(other.published_at);
    }
}

void add(Page& page, Hit hit) {
    page.score += 1.0 / (kFusionConstant + static_cast<double>(hit.rank));
    std::vector<HitOrigin> origins = std::move(page.hit.origins);
    origins.push_back({hit.provider, hit.rank});
    if (origins.size() == 1 || hit.rank < page.hit.rank) {
        std::swap(page.hit, hit);
    }
    complete(page.hit, hit);
    page.hit.origins = std::move(origins);
}

}  // namespace

std::vector<Hit> fuse(std::vector<std::vector<Hit>> lists, std::size_t max_hits) {
    std::vector<Page> pages;
    std::unordered_map<std::string, std::size_t> places;
    for (std::vector<Hit>& list : lists) {
        for (Hit& hit : list) {
            const auto [place, is_new] = places.try_emplace(canonical_url(hit.url), pages.size());
            if (is_new) {
                pages.emplace_back().place = place->second;
            } else if (has_it_from(pages[place->second].hit, hit.provider)) {
                continue;  // twice in one list: its better place counts
            }
            add(pages[place->second], std::move(hit));
        }
    }
    std::sort(pages.begin(), pages.end(), [](const Page& a, const Page& b) {
        return std::tuple(-a.score, a.hit.rank, a.place) <
               std::tuple(-b.score, b.hit.rank, b.place);
    });
    std::vector<Hit> hits;
    for (Page& page : pages) {
        if (hits.size() == max_hits) {
            break;
        }
        page.hit.rank = static_cast<std::uint32_t>(hits.size() + 1);
        hits.push_back(std::move(page.hit));
    }
    return hits;
}

}  // namespace sluice::web
