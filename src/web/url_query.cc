#include "web/url_query.h"

#include "base/text.h"

namespace sluice::web {

UrlQuery& UrlQuery::add(std::string_view name, std::string_view value) {
    url_ += separator_;
    url_.append(name).append("=").append(percent_encode(value));
    separator_ = '&';
    return *this;
}

}  // namespace sluice::web
