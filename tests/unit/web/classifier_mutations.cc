// Whether each row of the tables that say whose fault an answer is, is needed: leaves out one row
// at a time, or one part of a row, and runs every case file. A mutant that no case notices
// survives. Prints what became of each; exit code 1 when one survives. tools/mutate_classifier
// builds and runs it.
#include "case_file.h"
#include "judge_cases.h"
#include "plain_provider.h"

#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web::testing {
namespace {

template <class Row>
using Rows = std::vector<Row>;

struct Mutant {
    std::string what;
    Rows<BlameRow> rows;
};

std::string statuses_of(const Statuses& status) {
    const std::string first = std::to_string(status.first);
    return status.first == status.last ? first : first + "-" + std::to_string(status.last);
}

std::string title_of(const BlameRow& row, std::size_t number) {
    return "row " + std::to_string(number + 1) + ", " + statuses_of(row.status) + " " +
           std::string(name_of(row.effect)) + " " + std::string(to_string(row.outcome));
}

// One row gone, or without one of its parts.
std::vector<Mutant> mutants_of(std::span<const BlameRow> table) {
    const Rows<BlameRow> rows(table.begin(), table.end());
    std::vector<Mutant> mutants;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::string name = title_of(rows[i], i);
        const auto add = [&](std::string_view how, const std::function<void(BlameRow&)>& change) {
            Mutant& mutant = mutants.emplace_back(name + std::string(how), rows);
            change(mutant.rows[i]);
        };
        Mutant& shorter = mutants.emplace_back(name, rows);
        shorter.rows.erase(shorter.rows.begin() + static_cast<std::ptrdiff_t>(i));
        if (rows[i].when != nullptr) {
            add(": always", [](BlameRow& row) { row.when = nullptr; });
        }
        if (rows[i].penalty != nullptr) {
            add(": no time of its own", [](BlameRow& row) { row.penalty = nullptr; });
        }
        if (rows[i].reach != Reach::kKey) {
            add(": the key alone", [](BlameRow& row) { row.reach = Reach::kKey; });
        }
        if (rows[i].again != Again::kNo) {
            add(": not once more", [](BlameRow& row) { row.again = Again::kNo; });
        }
    }
    return mutants;
}

class Report {
 public:
    // `differs` says whether a case notices the mutant.
    void check(const std::string& table, const std::string& mutant,
               const std::vector<JudgeCase>& cases,
               const std::function<bool(const JudgeCase&)>& differs) {
        std::size_t noticed = 0;
        std::string first;
        for (const JudgeCase& judge_case : cases) {
            if (differs(judge_case)) {
                first = noticed == 0 ? judge_case.name : first;
                ++noticed;
            }
        }
        mutants_ += 1;
        survivors_ += noticed == 0 ? 1 : 0;
        std::cout << (noticed == 0 ? "SURVIVES " : "killed   ") << table << ", " << mutant;
        if (noticed > 0) {
            std::cout << "  [" << noticed << ": " << first.substr(0, kShownBytes) << "]";
        }
        std::cout << '\n';
    }

    int finish() const {
        std::cout << mutants_ << " mutants, " << survivors_ << " survive\n";
        return survivors_ == 0 && mutants_ > 0 ? 0 : 1;
    }

 private:
    static constexpr std::size_t kShownBytes = 90;

    int mutants_ = 0;
    int survivors_ = 0;
};

void mutate_generic(Report& report, const std::vector<JudgeCase>& cases) {
    for (const Mutant& mutant : mutants_of(blame_tables().generic)) {
        BlameTables tables = blame_tables();
        tables.generic = mutant.rows;
        report.check("all", mutant.what, cases, [&](const JudgeCase& judge_case) {
            return !difference(judge_case, *judge_case.provider, tables).empty();
        });
    }
}

template <class Row>
Rows<Row> without(std::span<const Row> rows, std::size_t number) {
    Rows<Row> left(rows.begin(), rows.end());
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(number));
    return left;
}

void mutate_guards(Report& report, const std::vector<JudgeCase>& cases) {
    const auto guards = blame_tables().guards;
    for (std::size_t i = 0; i < guards.size(); ++i) {
        const Rows<GuardRow> left = without(guards, i);
        BlameTables tables = blame_tables();
        tables.guards = left;
        const std::string name =
            "guard " + std::to_string(i + 1) + ", " + statuses_of(guards[i].status);
        report.check("all", name, cases, [&](const JudgeCase& judge_case) {
            return !difference(judge_case, *judge_case.provider, tables).empty();
        });
    }
}

void mutate_transport(Report& report, const std::vector<JudgeCase>& cases) {
    const auto rows = blame_tables().transport;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Rows<TransportRow> left = without(rows, i);
        BlameTables tables = blame_tables();
        tables.transport = left;
        const std::string name = "no answer, " + std::string(to_string(rows[i].code));
        report.check("all", name, cases, [&](const JudgeCase& judge_case) {
            return !difference(judge_case, *judge_case.provider, tables).empty();
        });
    }
}

void mutate_provider(Report& report, const std::vector<JudgeCase>& cases,
                     const Provider& provider) {
    for (const Mutant& mutant : mutants_of(provider.blame_rows())) {
        const WithRows mutated(provider, mutant.rows);
        report.check(std::string(provider.spec().name), mutant.what, cases,
                     [&](const JudgeCase& judge_case) {
                         return judge_case.provider == &provider &&
                                !difference(judge_case, mutated, blame_tables()).empty();
                     });
    }
}

int run() {
    const std::vector<JudgeCase> cases = judge_cases();
    for (const JudgeCase& judge_case : cases) {
        const std::string failed = difference(judge_case, *judge_case.provider, blame_tables());
        if (!failed.empty()) {
            std::cout << judge_case.name << " does not hold as it is: " << failed << '\n';
            return 1;
        }
    }
    Report report;
    mutate_generic(report, cases);
    mutate_guards(report, cases);
    mutate_transport(report, cases);
    for (const Provider* provider : all_providers()) {
        mutate_provider(report, cases, *provider);
    }
    return report.finish();
}

}  // namespace
}  // namespace sluice::web::testing

int main() {
    return sluice::web::testing::run();
}
