#include "sim/totals.h"

#include "unit/web/case_file.h"

#include <cstdio>
#include <string_view>

namespace sluice::sim {

namespace {

void line(std::string_view kind, std::string_view word, std::uint64_t count) {
    std::printf("  %-8.*s %-20.*s %10llu\n", static_cast<int>(kind.size()), kind.data(),
                static_cast<int>(word.size()), word.data(), static_cast<unsigned long long>(count));
}

std::string_view name_of_effect(std::size_t effect) {
    return web::testing::name_of(static_cast<web::Effect>(effect));
}

}  // namespace

void Totals::print() const {
    line("all", "requests", requests);
    line("all", "calls", calls);
    line("all", "clients that left", left);
    line("all", "operator's changes", changes);
    line("all", "circuits opened", trips);
    line("all", "retries", retries);
    line("all", "explained", explained);
    for (const auto& [word, count] : replies) {
        line("reply", word, count);
    }
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        line("attempt", to_string(static_cast<web::Outcome>(i)), outcomes[i]);
    }
    for (std::size_t i = 0; i < effects.size(); ++i) {
        line("said", name_of_effect(i), effects[i]);
    }
}

std::vector<std::string> Totals::missing() const {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        if (outcomes[i] == 0) {
            words.emplace_back(to_string(static_cast<web::Outcome>(i)));
        }
    }
    for (std::size_t i = 0; i < effects.size(); ++i) {
        if (effects[i] == 0) {
            words.emplace_back(name_of_effect(i));
        }
    }
    for (const char* word : {"live", "fresh", "stale", "degraded"}) {
        if (!replies.contains(word)) {
            words.emplace_back(word);
        }
    }
    if (retries == 0) {
        words.emplace_back("retry");
    }
    if (explained == 0) {
        words.emplace_back("explanation");
    }
    return words;
}

}  // namespace sluice::sim
