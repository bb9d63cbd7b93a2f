#include "surface/common/accepts.h"

#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice::surface {

namespace {

// The weight that follows a type, 0 to 1 (RFC 9110, 12.4.2): 1 where there is none, 0 for one that
// can't be read.
double weight_of(std::string_view parameters) {
    for (const std::string_view parameter : split_list(parameters, ';')) {
        if (!parameter.starts_with("q=") && !parameter.starts_with("Q=")) {
            continue;
        }
        const std::string_view text = parameter.substr(2);
        double weight = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight,
                                                  std::chars_format::fixed);
        const bool is_weight = error == std::errc() && end == text.data() + text.size();
        return is_weight ? std::clamp(weight, 0.0, 1.0) : 0;
    }
    return 1;
}

struct Liking {
    double html = 0;
    double json = 0;
    double anything = 0;
};

void add(Liking& liking, std::string_view choice) {
    const std::size_t end = std::min(choice.find(';'), choice.size());
    const std::string type = to_lower(trim(choice.substr(0, end)));
    const double weight = weight_of(choice.substr(end));
    if (type == "text/html" || type == "application/xhtml+xml") {
        liking.html = std::max(liking.html, weight);
    } else if (type == "*/*") {
        liking.anything = std::max(liking.anything, weight);
    } else if (type == "application/json" || type == "application/problem+json" ||
               type == "application/*") {
        liking.json = std::max(liking.json, weight);
    }
}

}  // namespace

bool prefers_html(const io::HttpRequest& request) {
    Liking liking;
    for (const io::HeaderField& field : request.headers) {
        if (equals_ignoring_case(field.name, "Accept")) {
            for (const std::string_view choice : split_list(field.value)) {
                add(liking, choice);
            }
        }
    }
    return liking.html > liking.json && liking.html >= liking.anything;
}

}  // namespace sluice::surface
