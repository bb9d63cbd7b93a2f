#include "web/strategy.h"

#include <string>
#include <utility>

namespace sluice::web {

std::shared_ptr<const SearchAnswer> make_answer(const SearchRequest& request,
                                                std::string_view provider, ProviderAnswer found) {
    return std::make_shared<const SearchAnswer>(std::string(request.query.reveal()), request.lane,
                                                std::string(provider), std::move(found.answer),
                                                std::move(found.hits));
}

}  // namespace sluice::web
