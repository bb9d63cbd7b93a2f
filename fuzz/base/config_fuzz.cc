// Any text as a configuration file: it must load or be refused, without a crash, with every field
// in its range and every message one line of text.
#include "base/config_reader.h"
#include "base/config_render.h"
#include "base/text.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::chrono_literals;
using sluice::ConfigReader;

void read_all(ConfigReader in) {
    enum class Word { kA, kB };
    std::string text = "x";
    std::vector<std::string> list = {"a"};
    std::size_t size = 1024;
    bool flag = false;
    int whole = 5;
    double number = 0.5;
    sluice::Millis duration{1000};
    Word word = Word::kA;
    sluice::Secret secret;
    in.text({"text", "a text"}, text);
    ConfigReader s = in.section("s");
    s.list({"list", "a list"}, list);
    s.size({"size", "a size"}, size, 16, 1 << 20);
    s.boolean({"flag", "a flag"}, flag);
    s.integer({"whole", "a whole number"}, whole, 1, 10);
    s.number({"number", "a number"}, number, 0, 1);
    s.duration({"time_s", "a duration"}, duration, 10ms, 1h);
    s.choice({"word", "a word"}, word, {{"a", Word::kA}, {"b", Word::kB}});
    s.secret({"secret", "a secret"}, secret);
    SLUICE_ASSERT(size >= 16 && size <= 1 << 20);
    SLUICE_ASSERT(whole >= 1 && whole <= 10);
    SLUICE_ASSERT(number >= 0 && number <= 1);
    SLUICE_ASSERT(duration >= 10ms && duration <= 1h);
    for (const std::string& name : in.names("free")) {
        in.section("free").section(name).integer({"n", "a number"}, whole, 1, 10);
    }
    in.template_section("free").integer({"n", "a number"}, whole, 1, 10);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    sluice::ConfigLayers layers;
    layers.add_file("f.toml", {reinterpret_cast<const char*>(data), size});
    read_all(ConfigReader(layers));
    layers.finish();
    SLUICE_ASSERT(layers.errors().size() <= sluice::ConfigLayers::kMaxErrors);
    for (const sluice::ConfigError& error : layers.errors()) {
        SLUICE_ASSERT(error.where.starts_with("f.toml"));
        SLUICE_ASSERT(!error.message.empty() && sluice::is_valid_utf8(error.message));
        SLUICE_ASSERT(error.message.find('\n') == std::string::npos);
    }
    if (layers.errors().empty()) {
        // What is in force can be written as a file and read again.
        SLUICE_ASSERT(sluice::is_valid_utf8(sluice::render_effective(layers.settings())));
    }
    return 0;
}
