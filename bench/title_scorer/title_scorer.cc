// Scores queries over titles for bench/titles: the file named first holds a title a line, which is
// its own match copy; each line of stdin is a query, and gets a line of JSON with the CPU time of
// this thread, the number of matches and the first 50 of them by their lines, counted from 0.
#include "base/result.h"
#include "titles/corpus.h"
#include "titles/match_copy.h"
#include "titles/score.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

std::int64_t thread_cpu_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::vector<sluice::titles::Candidate> read_titles(const char* path) {
    std::vector<sluice::titles::Candidate> candidates;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        SLUICE_ASSERT(sluice::titles::match_copy(line) == line);
        sluice::titles::Candidate candidate;
        candidate.id = static_cast<std::int64_t>(candidates.size());
        candidate.title = std::move(line);
        candidates.push_back(std::move(candidate));
    }
    return candidates;
}

void answer(const sluice::titles::Corpus& corpus, const std::string& query, double cutoff) {
    const std::int64_t started = thread_cpu_ns();
    const auto ranking = sluice::titles::score_titles(corpus, sluice::QueryText(query),
                                                      {.cutoff = cutoff, .result_limit = 50});
    const std::int64_t ns = thread_cpu_ns() - started;
    std::printf("{\"ns\":%" PRId64 ",\"total\":%zu,\"pages\":[", ns, ranking->total_matched);
    const char* separator = "";
    for (const auto& page : ranking->pages) {
        std::printf("%s[%" PRId64 ",%.17g]", separator, page.id, page.score);
        separator = ",";
    }
    std::printf("]}\n");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: title_scorer TITLES CUTOFF\n", stderr);
        return 2;
    }
    auto candidates = read_titles(argv[1]);
    const std::size_t count = candidates.size();
    const std::int64_t started = thread_cpu_ns();
    const auto corpus = sluice::titles::Corpus::build(std::move(candidates));
    SLUICE_ASSERT(corpus.ok());
    std::printf("{\"titles\":%zu,\"build_ns\":%" PRId64 ",\"prepared_bytes\":%zu}\n", count,
                thread_cpu_ns() - started, (*corpus)->prepared_bytes());
    std::fflush(stdout);
    for (std::string query; std::getline(std::cin, query);) {
        answer(**corpus, query, std::stod(argv[2]));
    }
    return 0;
}
