// Every case file that says whose fault an answer is, or what it reads as: of the generic table
// (tests/cases/blame) and of each provider (tests/cases/providers).
#pragma once

#include "web/blame.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web::testing {

struct JudgeCase {
    std::string name;  // the file, and of several in one file which
    const Provider* provider = nullptr;
    SearchRequest request;
    io::ClientResponse response;
    std::optional<Error> error = {};  // in its place
    WallTime now;
    // Compares what was expected and what was made of the answer: empty when they agree.
    std::function<std::string(const Judgement& judgement)> difference;
    std::shared_ptr<const Provider> owned = {};  // of a provider that exists in the case only
};

// In the order of their files. Throws on a file that can't be read as one.
std::vector<JudgeCase> judge_cases();

// What the tables make of the case that is not what it expects, with `provider` in place of its
// own. Empty: the case holds.
std::string difference(const JudgeCase& judge_case, const Provider& provider,
                       const BlameTables& tables);

}  // namespace sluice::web::testing
