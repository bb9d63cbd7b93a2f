#include "judge_cases.h"

#include "case_file.h"
#include "plain_provider.h"

#include <array>
#include <set>
#include <stdexcept>
#include <utility>

namespace sluice::web::testing {
namespace {

constexpr std::array kEffects = {Effect::kCool,      Effect::kExhaust, Effect::kQuarantine,
                                 Effect::kKeyCannot, Effect::kCaller,  Effect::kProvider,
                                 Effect::kGateway,   Effect::kEmpty};

Effect effect_named(std::string_view name) {
    for (const Effect effect : kEffects) {
        if (name_of(effect) == name) {
            return effect;
        }
    }
    throw std::runtime_error("no such effect: " + std::string(name));
}

std::string said_instead(const std::string& made, const std::string& expected) {
    return made == expected ? std::string() : made + "\n  in place of " + expected;
}

// The members of a row of the generic table that are compared, of what was made of it.
std::string compared_members(const Judgement& judgement, bool with_detail) {
    const auto* verdict = std::get_if<Verdict>(&judgement);
    if (verdict == nullptr) {
        return "an answer";
    }
    std::string out(name_of(verdict->effect));
    out.append(" ").append(to_string(verdict->outcome));
    if (verdict->penalty) {
        out.append(" ").append(std::to_string(verdict->penalty->count() / 1000)).append(" s");
    }
    return with_detail ? out.append(": ").append(verdict->detail) : out;
}

std::string expected_members(const JsonValue& row) {
    std::string out(row.string_at("effect"));
    out.append(" ").append(row.string_at("outcome"));
    if (const auto penalty = row.find("penalty_s")) {
        out.append(" ").append(std::to_string(*penalty->as_integer())).append(" s");
    }
    const auto detail = row.find("detail");
    return detail ? out.append(": ").append(*detail->as_string()) : out;
}

io::ClientResponse response_of_row(const JsonValue& row) {
    static const std::set<std::string_view> other = {"effect",    "outcome", "error",
                                                     "penalty_s", "detail",  "own"};
    io::ClientResponse response;
    for (const auto& [name, value] : row.members()) {
        if (name == "status") {
            response.status = static_cast<int>(*value.as_integer());
        } else if (name == "type") {
            response.headers.emplace_back("content-type", *value.as_string());
        } else if (name == "headers") {
            for (const auto& [header, text] : value.members()) {
                response.headers.emplace_back(header, *text.as_string());
            }
        } else if (name == "body") {
            response.body = canonical(value);
        } else if (name == "text") {
            response.body = *value.as_string();
        } else if (!other.contains(name)) {
            throw std::runtime_error("no such member of a row: " + std::string(name));
        }
    }
    return response;
}

// "error" is the code of what happened to a call that got no answer.
std::optional<Error> error_of_row(const JsonValue& row) {
    const std::string_view name = row.string_at("error");
    if (name.empty()) {
        return std::nullopt;
    }
    for (const Code code :
         {Code::kTimeout, Code::kDeadlineExceeded, Code::kPayloadTooLarge, Code::kCancelled,
          Code::kUnavailable, Code::kUpstreamFailed, Code::kInternal}) {
        if (to_string(code) == name) {
            return Error{code, Blame::kProvider, "could not\nconnect", Millis(5)};
        }
    }
    throw std::runtime_error("no such code: " + std::string(name));
}

// "own" is what the provider's own rows say about the answer; without it there are none.
std::shared_ptr<const Provider> provider_of_row(const JsonValue& row) {
    const std::string_view own = row.string_at("own");
    if (own.empty()) {
        return std::make_shared<const PlainProvider>();
    }
    return std::make_shared<const StubbornProvider>(effect_named(own), Outcome::kPlanLimit);
}

void add_generic(std::vector<JudgeCase>& cases) {
    for (const std::string& path : json_files("tests/cases/blame")) {
        const Document file(read_file(path));
        const auto rows = file.root().find("cases");
        if (file.root().string_at("why").empty() || !rows) {
            throw std::runtime_error(path + ": expected why and cases");
        }
        for (const JsonValue& row : rows->elements()) {
            JudgeCase& added = cases.emplace_back();
            added.name = path + " " + canonical(row);
            added.owned = provider_of_row(row);
            added.provider = added.owned.get();
            added.request = usual_request();
            added.response = response_of_row(row);
            added.error = error_of_row(row);
            added.now = usual_now();
            const bool with_detail = row.find("detail").has_value();
            added.difference = [with_detail,
                                expected = expected_members(row)](const Judgement& judgement) {
                return said_instead(compared_members(judgement, with_detail), expected);
            };
        }
    }
}

void add_of_provider(std::vector<JudgeCase>& cases, const Provider& provider) {
    const std::string folder = "tests/cases/providers/" + std::string(provider.spec().name) + "/";
    for (const std::string& path : json_files(folder)) {
        const Document file(read_file(path));
        const JsonValue& root = file.root();
        const auto expected = root.find("expect");
        if (!expected) {
            continue;
        }
        JudgeCase& added = cases.emplace_back();
        added.name = path;
        added.provider = &provider;
        const auto fields = root.find("request");
        added.request = fields ? read_request(*fields) : usual_request();
        added.response = read_answer(root, folder);
        const auto now = root.find("now");
        added.now = now ? read_time(*now->as_string()) : usual_now();
        added.difference = [text = canonical(*expected)](const Judgement& judgement) {
            return said_instead(describe(judgement), text);
        };
    }
}

}  // namespace

std::vector<JudgeCase> judge_cases() {
    std::vector<JudgeCase> cases;
    add_generic(cases);
    for (const Provider* provider : all_providers()) {
        add_of_provider(cases, *provider);
    }
    return cases;
}

std::string difference(const JudgeCase& judge_case, const Provider& provider,
                       const BlameTables& tables) {
    if (judge_case.error) {
        return judge_case.difference(judge_transport_error(*judge_case.error, tables));
    }
    static JsonReader reader;
    const ProviderKey key = usual_key();
    const Asked asked{provider, judge_case.request, key};
    return judge_case.difference(judge(asked, judge_case.response, reader, judge_case.now, tables));
}

}  // namespace sluice::web::testing
