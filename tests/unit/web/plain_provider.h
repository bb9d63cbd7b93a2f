// Providers that exist in tests only.
#pragma once

#include "web/provider.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sluice::web::testing {

// A provider with nothing of its own: everything is the generic table's.
class PlainProvider : public Provider {
 public:
    const ProviderSpec& spec() const override {
        static const ProviderSpec plain = {.name = "plain",
                                           .default_base_url = "https://plain.test",
                                           .keys_variable = "PLAIN_API_KEYS",
                                           .key_variable = "PLAIN_API_KEY"};
        return plain;
    }

    io::ClientRequest build(const SearchRequest&, const ProviderKey&,
                            const CallSite&) const override {
        return {};
    }

    std::optional<ProviderAnswer> parse(const JsonValue& body,
                                        const SearchRequest&) const override {
        const auto results = body.find("results");
        const bool mine = results && results->is_array() && results->elements().empty();
        return mine ? std::optional<ProviderAnswer>(ProviderAnswer{}) : std::nullopt;
    }
};

// One that says the same about every answer, whatever it is.
class StubbornProvider final : public PlainProvider {
 public:
    StubbornProvider(Effect effect, Outcome outcome)
        : row_{.status = {0, 999}, .effect = effect, .outcome = outcome} {}

    std::span<const BlameRow> blame_rows() const override { return {&row_, 1}; }

 private:
    BlameRow row_;
};

// Another provider with other rows. What it stands for outlives it.
class WithRows final : public Provider {
 public:
    WithRows(const Provider& other, std::vector<BlameRow> rows)
        : other_(other), rows_(std::move(rows)) {}

    const ProviderSpec& spec() const override { return other_.spec(); }
    io::ClientRequest build(const SearchRequest& request, const ProviderKey& key,
                            const CallSite& site) const override {
        return other_.build(request, key, site);
    }
    std::optional<ProviderAnswer> parse(const JsonValue& body,
                                        const SearchRequest& request) const override {
        return other_.parse(body, request);
    }
    std::span<const BlameRow> blame_rows() const override { return rows_; }

 private:
    const Provider& other_;
    std::vector<BlameRow> rows_;
};

}  // namespace sluice::web::testing
