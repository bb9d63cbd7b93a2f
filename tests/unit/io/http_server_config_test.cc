// The section "server" of the settings.
#include "base/config_reader.h"
#include "io/http_server.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::test {
namespace {

using namespace std::chrono_literals;

struct Loaded {
    io::HttpServerConfig config;
    std::vector<ConfigError> errors;
};

Loaded load(std::string_view toml) {
    ConfigLayers layers;
    layers.add_file("test.toml", toml);
    ConfigReader root(layers);
    ConfigReader server = root.section("server");
    Loaded loaded;
    loaded.config = io::HttpServerConfig::read(server);
    layers.finish();
    loaded.errors = layers.errors();
    return loaded;
}

// Protects: every key reaches its field.
TEST(HttpServerConfig, ReadsEverySetting) {
    const Loaded loaded = load(R"([server]
listen = ["127.0.0.1:1", "[::1]:2"]
threads = 3
max_connections = 4
max_header_bytes = "5KiB"
max_target_bytes = 600
max_body_bytes = "7KiB"
max_buffered_body_bytes = "65KiB"
max_waiting_answer_bytes = "2MiB"
header_timeout_s = 8
body_timeout_s = 9
idle_timeout_s = 10
write_timeout_s = 11
drain_timeout_s = 0
tls_certificate_file = "c.pem"
tls_key_file = "k.pem"
)");
    ASSERT_TRUE(loaded.errors.empty()) << loaded.errors.front().message;
    const io::HttpServerConfig& c = loaded.config;
    EXPECT_EQ(c.listen, (std::vector<std::string>{"127.0.0.1:1", "[::1]:2"}));
    EXPECT_EQ(c.threads, 3);
    EXPECT_EQ(c.max_connections, 4U);
    EXPECT_EQ(c.max_header_bytes, 5U * 1024);
    EXPECT_EQ(c.max_target_bytes, 600U);
    EXPECT_EQ(c.max_body_bytes, 7U * 1024);
    EXPECT_EQ(c.max_buffered_body_bytes, 65U * 1024);
    EXPECT_EQ(c.max_waiting_answer_bytes, 2U * 1024 * 1024);
    EXPECT_EQ(c.header_timeout, 8s);
    EXPECT_EQ(c.body_timeout, 9s);
    EXPECT_EQ(c.idle_timeout, 10s);
    EXPECT_EQ(c.write_timeout, 11s);
    EXPECT_EQ(c.drain_timeout, 0s);
    EXPECT_EQ(c.tls_certificate_file, "c.pem");
    EXPECT_EQ(c.tls_key_file, "k.pem");
}

// Protects: the defaults that the documents name, and that they are valid.
TEST(HttpServerConfig, HasTheDocumentedDefaults) {
    const Loaded loaded = load("");
    ASSERT_TRUE(loaded.errors.empty()) << loaded.errors.front().message;
    EXPECT_EQ(loaded.config.listen, std::vector<std::string>{"127.0.0.1:8080"});
    EXPECT_EQ(loaded.config.max_body_bytes, 2 * 1024U * 1024);
    EXPECT_EQ(loaded.config.max_buffered_body_bytes, 64U * 1024 * 1024);
    EXPECT_EQ(loaded.config.max_waiting_answer_bytes, 64U * 1024 * 1024);
    EXPECT_EQ(loaded.config.max_connections, 10'000U);
    EXPECT_EQ(loaded.config.header_timeout, 10s);
    EXPECT_EQ(loaded.config.drain_timeout, 15s);
}

// Protects: a mistake stops the start, and its key is named.
TEST(HttpServerConfig, NamesTheKeyOfAMistake) {
    struct Case {
        std::string toml;
        std::string key;
    };
    const std::vector<Case> cases = {
        {"listen = [\"nowhere\"]", "server.listen"},
        {"listen = [\"127.0.0.1:1\", \"127.0.0.1:70000\"]", "server.listen"},
        {"listen = []", "server.listen"},
        {"tls_key_file = \"k\"", "server.tls_certificate_file"},
        {"tls_certificate_file = \"c\"", "server.tls_key_file"},
        {"max_header_bytes = 2048", "server.max_target_bytes"},
        {"threads = -1", "server.threads"},
        {"max_connections = 0", "server.max_connections"},
        {"header_timeout_s = 0", "server.header_timeout_s"},
        {"max_body_bytes = 1", "server.max_body_bytes"},
        {"max_body_bytes = \"65MiB\"", "server.max_buffered_body_bytes"},
    };
    for (const Case& c : cases) {
        const Loaded loaded = load("[server]\n" + c.toml);
        ASSERT_EQ(loaded.errors.size(), 1U) << c.toml;
        EXPECT_EQ(loaded.errors.front().key, c.key) << c.toml;
    }
}

}  // namespace
}  // namespace sluice::test
