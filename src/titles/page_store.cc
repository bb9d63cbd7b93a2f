#include "titles/page_store.h"

#include "titles/page_rows.h"

#include <charconv>
#include <system_error>

namespace sluice::titles {

std::string_view to_string(PageOrder order) {
    switch (order) {
        case PageOrder::kNewest:
            return "newest";
        case PageOrder::kOldest:
            return "oldest";
        case PageOrder::kTitle:
            return "title";
    }
    SLUICE_ASSERT(false && "a PageOrder outside its enumeration");
}

std::optional<PageOrder> parse_page_order(std::string_view word) {
    for (const PageOrder order : {PageOrder::kNewest, PageOrder::kOldest, PageOrder::kTitle}) {
        if (to_string(order) == word) {
            return order;
        }
    }
    return std::nullopt;
}

PlacedMessage placed_message(std::string_view message) {
    std::size_t place = 0;
    const auto [end, error] =
        std::from_chars(message.data(), message.data() + message.size(), place);
    const std::string_view rest = message.substr(static_cast<std::size_t>(end - message.data()));
    return error == std::errc() && rest.starts_with(": ") ? PlacedMessage{place, rest.substr(2)}
                                                          : PlacedMessage{0, message};
}

Status validate(const std::vector<NewPage>& pages) {
    if (pages.size() > kMaxPagesAtOnce) {
        return Error{Code::kInvalidRequest, Blame::kCaller,
                     "expected at most " + std::to_string(kMaxPagesAtOnce) + " pages at once",
                     std::nullopt};
    }
    for (std::size_t i = 0; i < pages.size(); ++i) {
        if (Status status = validate(pages[i]); !status.ok()) {
            return at_place(i, status.error());
        }
    }
    return {};
}

}  // namespace sluice::titles
