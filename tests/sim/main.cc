// Simulation of the web side: the real pipeline between random clients, a busy operator and
// providers that fail and lie, on a manual clock. Invariants are checked at every call, at every
// reply and at the end of each run; a violation prints the seed, and `--seed` replays it.
//
//   web_sim [--seed N] [--runs N] [--first N]
#include "sim/run.h"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

namespace {

using namespace sluice::sim;

// Fewer runs may well miss a word or two.
constexpr std::uint64_t kRunsThatCoverAll = 20;

struct Arguments {
    std::uint64_t first = 1;
    std::uint64_t runs = 20;
};

Arguments read(int argc, char** argv) {
    Arguments arguments;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view flag = argv[i];
        const std::string_view text = argv[i + 1];
        std::uint64_t number = 0;
        std::from_chars(text.data(), text.data() + text.size(), number);
        if (flag == "--seed") {
            arguments.first = number;
            arguments.runs = 1;
        } else if (flag == "--first") {
            arguments.first = number;
        } else if (flag == "--runs") {
            arguments.runs = number;
        }
    }
    return arguments;
}

int simulate(const Arguments& arguments, const char* program) {
    const Repertoire repertoire;
    Totals totals;
    for (std::uint64_t seed = arguments.first; seed < arguments.first + arguments.runs; ++seed) {
        if (!run(seed, repertoire, totals)) {
            std::fprintf(stderr, "web_sim: replay with: %s --seed %llu\n", program,
                         static_cast<unsigned long long>(seed));
            return 1;
        }
    }
    std::printf("web_sim: %llu runs, every invariant held\n",
                static_cast<unsigned long long>(arguments.runs));
    totals.print();
    if (arguments.runs < kRunsThatCoverAll) {
        return 0;
    }
    const auto missing = totals.missing();
    for (const std::string& word : missing) {
        std::fprintf(stderr, "web_sim: never occurred: %s\n", word.c_str());
    }
    return missing.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return simulate(read(argc, argv), argv[0]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "web_sim: %s\n", error.what());
        return 2;
    }
}
