#include "io/redaction.h"

#include "base/json.h"
#include "base/text.h"

#include <algorithm>
#include <array>

namespace sluice::io {

namespace {

// Their values let their holder go on as somebody.
constexpr std::array<std::string_view, 3> kCredentialHeaders = {"set-cookie", "authorization",
                                                                "proxy-authorization"};

std::string json_escaped(std::string_view text) {
    std::string quoted;
    append_json_string(quoted, text);
    return quoted.substr(1, quoted.size() - 2);
}

void hide(std::string& text, std::string_view needle) {
    const std::string lower = to_lower(text);
    std::size_t at = lower.find(needle);
    if (at == std::string::npos) {
        return;
    }
    std::string cleaned;
    std::size_t from = 0;
    for (; at != std::string::npos; at = lower.find(needle, from)) {
        cleaned.append(text, from, at - from).append(Redaction::kMark);
        from = at + needle.size();
    }
    cleaned.append(text, from);
    text = std::move(cleaned);
}

}  // namespace

Redaction::Redaction(const ClientRequest& request) {
    for (const auto& [name, value] : request.secret_headers) {
        add(value.reveal());
        add(value.reveal().substr(value.reveal().rfind(' ') + 1));
    }
    for (const auto& [name, value] : request.secret_query) {
        add(value.reveal());
    }
    std::ranges::sort(needles_, std::ranges::greater(),
                      [](const Secret& needle) { return needle.reveal().size(); });
}

void Redaction::add(std::string_view secret) {
    if (secret.size() < kShortestSecret) {
        return;
    }
    for (const std::string& form :
         {std::string(secret), percent_encode(secret), json_escaped(secret)}) {
        Secret needle(to_lower(form));
        if (std::ranges::none_of(
                needles_, [&](const Secret& known) { return known.equals(needle.reveal()); })) {
            needles_.push_back(std::move(needle));
        }
    }
}

void Redaction::clean(std::string& text) const {
    for (const Secret& needle : needles_) {
        hide(text, needle.reveal());
    }
}

void Redaction::clean(Exchange& exchange) const {
    ExchangeRequest& request = exchange.request;
    clean(request.base_url);
    clean(request.target);
    clean(request.body);
    for (auto& [name, value] : request.headers) {
        clean(value);
    }
    if (!exchange.outcome.ok()) {
        clean(exchange.outcome.error().message);
        return;
    }
    ClientResponse& response = *exchange.outcome;
    clean(response.body);
    for (auto& [name, value] : response.headers) {
        if (std::ranges::find(kCredentialHeaders, name) != kCredentialHeaders.end()) {
            value = kMark;
        } else {
            clean(value);
        }
    }
}

}  // namespace sluice::io
