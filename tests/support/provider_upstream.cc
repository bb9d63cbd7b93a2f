#include "support/provider_upstream.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace sluice::test {

namespace fs = std::filesystem;

namespace {

using Act = Scripted::Act;

constexpr std::size_t kBombBytes = 64 * 1024 * 1024;  // far past what anybody may accept
constexpr std::size_t kSlowPieceBytes = 64;
constexpr Millis kSlowInterval{50};
constexpr std::size_t kHeadBytes = 16 * 1024 * 1024;
constexpr std::size_t kHeaderLines = 100'000;
constexpr std::array<std::string_view, 10> kFaults = {
    "stall", "cut",    "garbage", "bomb",        "huge",
    "slow",  "refuse", "reset",   "long_header", "many_headers"};

// Writes again what was read: a fixture's body is one member of a larger document.
void copy_json(const JsonValue& from, JsonWriter& to) {
    switch (from.type()) {
        case JsonValue::Type::kNull:
            to.null();
            return;
        case JsonValue::Type::kBoolean:
            to.value(*from.as_boolean());
            return;
        case JsonValue::Type::kInteger:
            to.value(*from.as_integer());
            return;
        case JsonValue::Type::kNumber:
            to.value(*from.as_number());
            return;
        case JsonValue::Type::kString:
            to.value(*from.as_string());
            return;
        case JsonValue::Type::kArray:
            to.begin_array();
            for (const JsonValue& element : from.elements()) {
                copy_json(element, to);
            }
            to.end_array();
            return;
        case JsonValue::Type::kObject:
            to.begin_object();
            for (const auto& [name, value] : from.members()) {
                to.key(name);
                copy_json(value, to);
            }
            to.end_object();
            return;
    }
}

std::string read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Scripted to_script(const JsonValue& fixture) {
    Scripted script;
    if (const auto status = fixture.find("status")) {
        script.status = static_cast<int>(status->as_integer().value_or(0));
    }
    if (const auto headers = fixture.find("headers")) {
        for (const auto& [name, value] : headers->members()) {
            script.headers.emplace_back(name, value.as_string().value_or(std::string_view()));
        }
    }
    if (const auto body = fixture.find("body"); body && body->is_string()) {
        script.body = *body->as_string();
    } else if (body) {
        JsonWriter writer(script.body);
        copy_json(*body, writer);
    }
    return script;
}

Scripted refusal(int status, std::string_view reason) {
    std::string body;
    JsonWriter(body).begin_object().field("error", reason).end_object();
    return Scripted::with_status(status, std::move(body));
}

Error invalid(std::string message) {
    return Error{Code::kInvalidRequest, Blame::kCaller, std::move(message), std::nullopt};
}

// A header that goes on for longer than anybody may wait for its end.
std::string head_of_one_line() {
    return "HTTP/1.1 200 OK\r\nX-Endless: " + std::string(kHeadBytes, 'a');
}

std::string head_of_many_lines() {
    std::string head = "HTTP/1.1 200 OK\r\n";
    for (std::size_t i = 0; i < kHeaderLines; ++i) {
        head += "X-Header-" + std::to_string(i) + ": one of many\r\n";
    }
    return head + "Content-Length: 2\r\n\r\n{}";
}

void apply_fault(std::string_view fault, Scripted& script) {
    const Millis delay = script.delay;
    if (fault == "stall") {
        script = Scripted::doing(Act::kStall);
    } else if (fault == "refuse") {
        script = Scripted::doing(Act::kClose);
    } else if (fault == "reset") {
        script = Scripted::doing(Act::kReset);
    } else if (fault == "huge") {
        script = Scripted::doing(Act::kEndless);
    } else if (fault == "garbage") {
        script = Scripted::raw("220 this is not HTTP\r\n");
    } else if (fault == "long_header") {
        script = Scripted::raw(head_of_one_line());
    } else if (fault == "many_headers") {
        script = Scripted::raw(head_of_many_lines());
    } else if (fault == "cut") {
        script.cut_after = script.body.size() / 2;
    } else if (fault == "slow") {
        script.piece_bytes = kSlowPieceBytes;
        script.piece_interval = kSlowInterval;
    }
    script.delay = delay;
}

std::optional<std::size_t> size_at(const JsonValue& object, std::string_view key) {
    const auto value = object.find(key);
    const auto number = value ? value->as_integer() : std::nullopt;
    return number && *number >= 0 ? std::optional(static_cast<std::size_t>(*number)) : std::nullopt;
}

ScriptedUpstream::Options server_options(const ProviderUpstream::Options& options) {
    ScriptedUpstream::Options made;
    made.port = options.port;
    made.max_recorded = options.max_recorded;
    made.unrecorded_prefix = "/_";
    return made;
}

}  // namespace

ProviderUpstream::ProviderUpstream(Options options)
    : options_(std::move(options)), upstream_({}, server_options(options_)) {
    load(options_.fixtures);
    if (providers_.empty()) {
        throw std::runtime_error("no fixtures in " + options_.fixtures);
    }
    upstream_.set_responder([this](const RecordedRequest& request) { return respond(request); });
}

void ProviderUpstream::load(const std::string& folder) {
    for (const auto& provider : fs::directory_iterator(folder)) {
        const fs::path fixtures = provider.path() / "fixtures";
        if (!fs::is_directory(fixtures)) {
            continue;
        }
        Provider& loaded = providers_[provider.path().filename().string()];
        for (const auto& file : fs::directory_iterator(fixtures)) {
            if (file.path().extension() != ".json") {
                continue;
            }
            const std::string text = read_file(file.path());
            const auto document = reader_.parse(text);
            if (!document.ok()) {
                throw std::runtime_error(file.path().string() + ": " + document.error().message);
            }
            loaded.fixtures.emplace(file.path().stem().string(), to_script(*document));
        }
        if (!loaded.fixtures.contains("ok")) {
            throw std::runtime_error("no ok.json in " + fixtures.string());
        }
    }
}

Status ProviderUpstream::behave(const std::string& provider, Behaviour behaviour) {
    const auto found = providers_.find(provider);
    if (found == providers_.end()) {
        return Error{Code::kNotFound, Blame::kCaller, "no such provider", std::nullopt};
    }
    if (!found->second.fixtures.contains(behaviour.fixture)) {
        return invalid("no such fixture");
    }
    const bool known_fault =
        std::find(kFaults.begin(), kFaults.end(), behaviour.fault) != kFaults.end();
    if (!behaviour.fault.empty() && !known_fault) {
        return invalid("no such fault");
    }
    const std::scoped_lock lock(mutex_);
    if (behaviour.fault == "bomb" && !bomb_) {
        bomb_ = Scripted::gzip_bomb(kBombBytes);
    }
    found->second.behaviour = std::move(behaviour);
    return {};
}

std::string ProviderUpstream::base_url(std::string_view provider) const {
    return upstream_.url("/" + std::string(provider));
}

Scripted ProviderUpstream::respond(const RecordedRequest& request) {
    if (request.path() == "/_control") {
        return request.method == "POST" ? control(request) : refusal(405, "POST it");
    }
    if (request.path() == "/_requests") {
        if (request.method == "DELETE") {
            upstream_.clear_requests();
            return Scripted::json("{}");
        }
        return list_requests();
    }
    const std::string_view path = request.path().substr(1);
    const auto found = providers_.find(path.substr(0, path.find('/')));
    return found == providers_.end() ? refusal(404, "no such provider") : respond_as(found->second);
}

Scripted ProviderUpstream::respond_as(Provider& provider) {
    const std::scoped_lock lock(mutex_);
    const Behaviour behaviour = provider.behaviour.value_or(Behaviour());
    if (behaviour.times && --*provider.behaviour->times == 0) {
        provider.behaviour.reset();
    }
    Scripted script = provider.fixtures.find(behaviour.fixture)->second;
    script.status = behaviour.status.value_or(script.status);
    script.delay = behaviour.delay.value_or(options_.delay);
    if (behaviour.fault == "bomb") {
        script.headers = bomb_->headers;
        script.body = bomb_->body;
    } else {
        apply_fault(behaviour.fault, script);
    }
    return script;
}

Scripted ProviderUpstream::control(const RecordedRequest& request) {
    const auto document = reader_.parse(request.body);
    if (!document.ok()) {
        return refusal(400, document.error().message);
    }
    Behaviour behaviour;
    if (const auto fixture = document->string_at("fixture"); !fixture.empty()) {
        behaviour.fixture = fixture;
    }
    behaviour.fault = document->string_at("fault");
    behaviour.times = size_at(*document, "times");
    if (behaviour.times == std::size_t{0}) {
        behaviour.times.reset();
    }
    if (const auto status = size_at(*document, "status")) {
        behaviour.status = static_cast<int>(*status);
    }
    if (const auto delay = size_at(*document, "delay_ms")) {
        behaviour.delay = Millis(*delay);
    }
    const Status done = behave(std::string(document->string_at("provider")), std::move(behaviour));
    return done.ok() ? Scripted::json("{}") : refusal(400, done.error().message);
}

Scripted ProviderUpstream::list_requests() const {
    std::string body;
    JsonWriter writer(body);
    writer.begin_array();
    for (const RecordedRequest& request : upstream_.requests()) {
        writer.begin_object().field("method", request.method).field("target", request.target);
        writer.field("peer", request.peer);
        writer.field(
            "at_ms",
            std::chrono::duration_cast<Millis>(request.received_at.time_since_epoch()).count());
        writer.key("headers").begin_object();
        for (const auto& [name, value] : request.headers) {
            writer.field(name, value);
        }
        writer.end_object().field("body", request.body).end_object();
    }
    writer.end_array();
    return Scripted::json(std::move(body));
}

}  // namespace sluice::test
