// Answers that are almost right: every value of the recorded ones replaced by a wrong one, and
// every recorded one cut off at every byte.
#include "base/clock.h"
#include "base/text.h"
#include "case_file.h"
#include "web/plain_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <string>

namespace sluice::web {
namespace {

using namespace testing;  // NOLINT: the vocabulary of this file

constexpr std::array<std::string_view, 8> kWrongValues = {
    "null", "true", "-1", "1e308", R"("")", R"("\u0000\u007f text")", "[]", R"({"a":[{}]})"};

// Writes `value`, with the value number `*countdown` (in document order) replaced.
void write_replaced(JsonWriter& json, const JsonValue& value, int& countdown,
                    std::string_view replacement) {
    if (countdown-- == 0) {
        json.raw(replacement);
    } else if (value.is_object()) {
        json.begin_object();
        for (const auto& [name, member] : value.members()) {
            json.key(name);
            write_replaced(json, member, countdown, replacement);
        }
        json.end_object();
    } else if (value.is_array()) {
        json.begin_array();
        for (const JsonValue& element : value.elements()) {
            write_replaced(json, element, countdown, replacement);
        }
        json.end_array();
    } else {
        json.raw(canonical(value));
    }
}

void check_invariants(const Judgement& judgement) {
    if (const auto* verdict = std::get_if<Verdict>(&judgement)) {
        EXPECT_LE(verdict->detail.size(), 200U);
        EXPECT_TRUE(is_valid_utf8(verdict->detail));
        return;
    }
    for (const Hit& hit : std::get<ProviderAnswer>(judgement).hits) {
        EXPECT_TRUE(usable_url(hit.url)) << hit.url;
        EXPECT_TRUE(is_valid_utf8(hit.title + hit.snippet + hit.content));
        EXPECT_EQ(hit.title.find('\0'), std::string::npos);
    }
}

struct Recorded {
    const Provider* provider;
    std::string path;
    io::ClientResponse response;
};

std::vector<Recorded> recorded() {
    std::vector<Recorded> all;
    for (const Provider* provider : all_providers()) {
        const std::string name(provider->spec().name);
        for (const auto& path : json_files("tests/cases/providers/" + name + "/fixtures")) {
            all.push_back({provider, path, read_response(Document(read_file(path)).root())});
        }
    }
    return all;
}

SearchRequest full_request(const std::string& path) {
    SearchRequest request = usual_request();
    request.want_answer = true;
    request.want_content = true;
    request.topic = path.find("news") == std::string::npos ? Topic::kGeneral : Topic::kNews;
    return request;
}

// A wrong type anywhere never breaks the reading: it costs a hit, or the answer, and never more.
TEST(HostileBodies, WrongTypesEverywhere) {
    JsonReader reader;
    std::size_t bodies = 0;
    for (Recorded& record : recorded()) {
        const Document original(record.response.body);
        const SearchRequest request = full_request(record.path);
        const ProviderKey key = usual_key();
        for (int target = 0;; ++target) {
            bool replaced = false;
            for (const std::string_view wrong : kWrongValues) {
                SCOPED_TRACE(record.path + " " + std::to_string(target) + std::string(wrong));
                int countdown = target;
                record.response.body.clear();
                JsonWriter json(record.response.body);
                write_replaced(json, original.root(), countdown, wrong);
                replaced = countdown < 0;
                check_invariants(
                    judge({*record.provider, request, key}, record.response, reader, usual_now()));
                ++bodies;
            }
            if (!replaced) {
                break;
            }
        }
    }
    EXPECT_GT(bodies, 1'000U);
}

// An answer that is cut off is never taken for a shorter one.
TEST(HostileBodies, TruncatedAnswersAreUnparseable) {
    JsonReader reader;
    for (Recorded& record : recorded()) {
        if (record.response.status != 200) {
            continue;
        }
        const std::string whole = record.response.body;
        const SearchRequest request = full_request(record.path);
        const ProviderKey key = usual_key();
        for (std::size_t size = 0; size < whole.size(); ++size) {
            SCOPED_TRACE(record.path + " " + std::to_string(size));
            record.response.body = whole.substr(0, size);
            const auto judgement =
                judge({*record.provider, request, key}, record.response, reader, usual_now());
            ASSERT_TRUE(std::holds_alternative<Verdict>(judgement));
            EXPECT_EQ(std::get<Verdict>(judgement).effect, Effect::kProvider);
            EXPECT_EQ(std::get<Verdict>(judgement).outcome, Outcome::kUnparseable);
        }
    }
}

// What a hit brings along is bounded, and cut between characters.
TEST(HostileBodies, LongTextsAreCut) {
    std::string long_text;
    while (long_text.size() < 2 * 1024 * 1024) {
        long_text += "\xE9\x87\x89";  // three bytes, so that the bounds fall inside a character
    }
    io::ClientResponse response;
    response.status = 200;
    JsonWriter json(response.body);
    json.begin_object().key("results").begin_array().begin_object();
    json.field("url", "https://a.example/" + std::string(kMaxUrlBytes, 'x')).end_object();
    json.begin_object().field("url", "https://a.example/").field("title", long_text);
    json.field("content", long_text).field("raw_content", long_text).end_object().end_array();
    json.field("answer", long_text).end_object();

    const SearchRequest request = full_request("");
    const ProviderKey key = usual_key();
    JsonReader reader({.max_bytes = 16 * 1024 * 1024, .max_depth = 16});
    const auto judgement =
        judge({*find_provider("tavily"), request, key}, response, reader, usual_now());
    const auto& answer = std::get<ProviderAnswer>(judgement);
    ASSERT_EQ(answer.hits.size(), 1U) << "a URL past its bound is not usable";
    const auto near = [](std::size_t size, std::size_t bound) {
        return size <= bound && size + 3 > bound;
    };
    EXPECT_TRUE(near(answer.hits[0].title.size(), kMaxTitleBytes));
    EXPECT_TRUE(near(answer.hits[0].snippet.size(), kMaxSnippetBytes));
    EXPECT_TRUE(near(answer.hits[0].content.size(), kMaxContentBytes));
    EXPECT_TRUE(near(answer.answer->size(), kMaxAnswerBytes));
    EXPECT_TRUE(is_valid_utf8(answer.hits[0].title + answer.hits[0].content + *answer.answer));
}

std::string repeated(std::string_view piece, std::size_t bytes) {
    std::string text;
    text.reserve(bytes + piece.size());
    while (text.size() < bytes) {
        text += piece;
    }
    return text;
}

Duration cpu_of_this_thread() {
    timespec used{};
    EXPECT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used), 0);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// The least CPU that it took of five times, so that a busy machine makes no difference.
template <class Work>
Duration time_of(Work work) {
    Duration least = Duration::max();
    for (int i = 0; i < 5; ++i) {
        const Duration began = cpu_of_this_thread();
        work();
        least = std::min(least, cpu_of_this_thread() - began);
    }
    return least;
}

// Everything else waits while an answer is read. Whatever its megabytes are made of, that takes
// about as long as it takes to see whether it is JSON.
TEST(HostileBodies, AHugeAnswerIsNotReadToItsEnd) {
    constexpr std::size_t kBytes = 8'000'000;
    const std::string ones = repeated("1,", kBytes) + "1";
    const std::string texts = repeated("\"\",", kBytes) + "1";
    const std::string members = repeated("\"a\":1,", kBytes) + "\"a\":1";
    const std::string lists = repeated("[],", kBytes) + "1";
    struct Case {
        std::string_view provider;
        int status;
        std::string body;
    };
    const std::array cases = {
        Case{"serper", 200, "{\"organic\":[" + ones + "]}"},
        Case{"serper", 200, "{\"organic\":[" + lists + "]}"},
        Case{"serper", 200, "{" + members + "}"},
        Case{"serper", 500, "{\"errors\":[" + ones + "]}"},
        Case{"serper", 400, "{\"message\":\"" + repeated("Not enough credit", kBytes) + "\"}"},
        Case{"tavily", 400, "{\"detail\":[" + ones + "]}"},
        Case{"google_cse", 403, "{\"error\":{\"errors\":[" + ones + "]}}"},
        Case{"google_cse", 429, "{\"error\":{\"details\":[" + ones + "]}}"},
        Case{"brave", 422, "{\"error\":{\"meta\":{\"errors\":[" + ones + "]}}}"},
        Case{"brave", 200,
             "{\"type\":\"search\",\"web\":{\"results\":[{\"url\":\"https://a.example/"
             "\",\"title\":\"" +
                 repeated("&", kBytes) + "\"}]}}"},
        Case{"brave", 200,
             "{\"type\":\"search\",\"web\":{\"results\":[{\"url\":\"https://a.example/\","
             "\"extra_snippets\":[" +
                 texts + "]}]}}"},
        Case{"exa", 200,
             "{\"results\":[{\"url\":\"https://a.example/\",\"highlights\":[" + texts + "]}]}"},
    };
    JsonReader reader({.max_bytes = 16 * 1024 * 1024, .max_depth = 16});
    const SearchRequest request = full_request("");
    const ProviderKey key = usual_key();
    for (const Case& c : cases) {
        SCOPED_TRACE(std::string(c.provider) + " " + c.body.substr(0, 80));
        const auto parsing = time_of([&] { EXPECT_TRUE(reader.parse(c.body).ok()); });
        io::ClientResponse response;
        response.status = c.status;
        response.body = c.body;
        const auto judging = time_of([&] {
            judge({*find_provider(c.provider), request, key}, response, reader, usual_now());
        });
        EXPECT_LT(judging, 2 * parsing + std::chrono::milliseconds(5));
        RecordProperty(std::string(c.provider) + std::to_string(&c - cases.data()) + "_ms",
                       std::to_string(judging / std::chrono::milliseconds(1)));
    }
}

}  // namespace
}  // namespace sluice::web
