// The configuration as a whole: its layers, what is said about mistakes, and where keys come from.
#include "app/config.h"

#include "support/fake_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::app {
namespace {

using namespace std::chrono_literals;
using test::FakeEnvironment;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Keys = std::vector<std::pair<std::string, std::string>>;

Keys keys(const FakeEnvironment& environment) {
    Keys shown;
    for (const auto& [provider, secret] : keys_from_environment(environment)) {
        shown.emplace_back(provider, secret.reveal());
    }
    return shown;
}

const EffectiveSetting& setting(const LoadedConfig& loaded, std::string_view path) {
    const auto found =
        std::find_if(loaded.settings.begin(), loaded.settings.end(),
                     [&](const EffectiveSetting& setting) { return setting.path == path; });
    SLUICE_ASSERT(found != loaded.settings.end());
    return *found;
}

// Without a file, variables and options everything has its default, and nothing is wrong.
TEST(ConfigTest, DefaultsAreValid) {
    const LoadedConfig loaded = load_config({}, FakeEnvironment());
    EXPECT_EQ(format_errors(loaded.errors), "");
    EXPECT_EQ(loaded.file, "");
    EXPECT_EQ(loaded.config.data_dir, "./sluice-data");
    EXPECT_EQ(loaded.config.server.listen, std::vector<std::string>{"127.0.0.1:8080"});
    EXPECT_EQ(loaded.config.web.cache.ttl, 300s);
    EXPECT_EQ(setting(loaded, "cache.ttl_s").origin, "default");
}

// The command line wins over the environment, the environment over the file.
TEST(ConfigTest, LayersInOrder) {
    FakeEnvironment environment;
    environment.files["sluice.toml"] = "[cache]\nttl_s = 1\nstale_ttl_s = 2\nnegative_ttl_s = 3\n";
    environment.variables["SLUICE__CACHE__STALE_TTL_S"] = "20";
    environment.variables["SLUICE__CACHE__NEGATIVE_TTL_S"] = "30";
    ConfigSources sources;
    sources.overrides.push_back({"cache.negative_ttl_s", "300", "--set cache.negative_ttl_s"});
    const LoadedConfig loaded = load_config(sources, environment);
    EXPECT_EQ(format_errors(loaded.errors), "");
    EXPECT_EQ(loaded.file, "sluice.toml");
    EXPECT_EQ(loaded.config.web.cache.ttl, 1s);
    EXPECT_EQ(loaded.config.web.cache.stale_ttl, 20s);
    EXPECT_EQ(loaded.config.web.cache.negative_ttl, 300s);
    EXPECT_EQ(setting(loaded, "cache.ttl_s").origin, "sluice.toml:2");
    EXPECT_EQ(setting(loaded, "cache.stale_ttl_s").origin,
              "environment SLUICE__CACHE__STALE_TTL_S");
    EXPECT_EQ(setting(loaded, "cache.negative_ttl_s").origin, "--set cache.negative_ttl_s");
}

// A file that was named is the only one that is read.
TEST(ConfigTest, NamedFile) {
    FakeEnvironment environment;
    environment.files["sluice.toml"] = "[cache]\nttl_s = 1\n";
    environment.files["other.toml"] = "[cache]\nttl_s = 2\n";
    ConfigSources sources;
    sources.file = "other.toml";
    const LoadedConfig loaded = load_config(sources, environment);
    EXPECT_EQ(loaded.file, "other.toml");
    EXPECT_EQ(loaded.config.web.cache.ttl, 2s);
}

std::string database_mistake(const std::string& url, const std::string& data_dir) {
    FakeEnvironment environment;
    environment.variables["GATEWAY_DATABASE_URL"] = url;
    environment.variables["SLUICE__DATA_DIR"] = data_dir;
    return format_errors(load_config({}, environment).errors);
}

// A URL of an earlier installation must name what is used, or be refused: never be passed over.
TEST(ConfigTest, DatabaseUrls) {
    EXPECT_EQ(database_mistake("", "/data"), "");
    EXPECT_EQ(database_mistake("sqlite:", "/data"), "");
    EXPECT_EQ(database_mistake("sqlite+aiosqlite:////data/gateway.db", "/data"), "");
    EXPECT_EQ(database_mistake("sqlite:////data/gateway.db?timeout=5", "/data/"), "");
    EXPECT_EQ(database_mistake("sqlite:///kept/gateway.db", "./kept"), "");
    EXPECT_THAT(database_mistake("sqlite:////elsewhere/gateway.db", "/data"),
                HasSubstr("set data_dir to /elsewhere"));
    EXPECT_THAT(database_mistake("sqlite:///gateway.db", "/data"), HasSubstr("set data_dir to ."));
    for (const char* url : {"sqlite://data/gateway.db", "sqlite:///", "sqlite:/data/gateway.db"}) {
        EXPECT_THAT(database_mistake(url, "/data"), HasSubstr("expected sqlite:///PATH")) << url;
    }
    for (const char* url : {"mysql://user:hunter2@db/sluice", "gateway.db"}) {
        EXPECT_THAT(database_mistake(url, "/data"),
                    AllOf(HasSubstr("database.url"), HasSubstr("expected sqlite:"),
                          HasSubstr("postgresql://"), Not(HasSubstr("hunter2"))))
            << url;
    }
    EXPECT_EQ(database_mistake("postgresql+asyncpg://user:hunter2@db/sluice", "/data"), "");
    for (const char* url : {"postgresql://user:hunter2@db:port/sluice",
                            "postgres://db/sluice?password=hunter2&x=1"}) {
        EXPECT_THAT(
            database_mistake(url, "/data"),
            AllOf(HasSubstr("database.url"), HasSubstr("expected"), Not(HasSubstr("hunter2"))))
            << url;
    }
}

// Files that are named must be there, the configuration itself and what it names.
TEST(ConfigTest, MissingFilesAreMistakes) {
    ConfigSources sources;
    sources.file = "absent.toml";
    const LoadedConfig absent = load_config(sources, FakeEnvironment());
    ASSERT_EQ(absent.errors.size(), 1u);
    EXPECT_EQ(absent.errors[0].where, "absent.toml");

    FakeEnvironment environment;
    environment.files["sluice.toml"] = "[upstream]\nca_file = \"no.pem\"\n";
    const LoadedConfig loaded = load_config({}, environment);
    ASSERT_EQ(loaded.errors.size(), 1u);
    EXPECT_EQ(loaded.errors[0].where, "sluice.toml:2");
    EXPECT_EQ(loaded.errors[0].key, "upstream.ca_file");
    EXPECT_NE(loaded.errors[0].message.find("no.pem"), std::string::npos);
}

// Every mistake of every layer is told at once, each with its place, its key and what was expected.
TEST(ConfigTest, AllMistakesAtOnce) {
    FakeEnvironment environment;
    environment.files["sluice.toml"] =
        "[cache]\nttl = 1\n[routing]\nfast = [\"serpr\"]\n[providers.tavily]\nbase_url = "
        "\"ftp://x\"\n";
    environment.variables["SLUICE__LANES__FAST__CONCURRENCY"] = "many";
    ConfigSources sources;
    sources.overrides.push_back({"data_dir", "", "--data-dir"});
    const LoadedConfig loaded = load_config(sources, environment);
    const std::string text = format_errors(loaded.errors);
    EXPECT_EQ(loaded.errors.size(), 5u) << text;
    for (const char* line : {
             "sluice.toml:2: cache.ttl: ",
             "did you mean cache.ttl_s?",
             "sluice.toml:4: routing.fast: unknown provider 'serpr'; did you mean 'serper'?",
             "sluice.toml:6: providers.tavily.base_url: expected a URL",
             "SLUICE__LANES__FAST__CONCURRENCY: lanes.fast.concurrency: ",
             "--data-dir: data_dir: expected the path of a directory",
         }) {
        EXPECT_NE(text.find(line), std::string::npos) << line << "\nis not in\n" << text;
    }
    // What is wrong keeps its default.
    EXPECT_EQ(loaded.config.web.lanes.fast.concurrency, 64u);
}

// An account is what a key's record may hold; a bound on keeping can't be negative.
TEST(ConfigTest, AccountsAndBoundsAreChecked) {
    FakeEnvironment environment;
    environment.files["sluice.toml"] = "[providers.exa]\naccount = \"" + std::string(101, 'a') +
                                       "\"\n[providers.brave]\nmax_kept_s = \"-1s\"\n";
    const std::string text = format_errors(load_config({}, environment).errors);
    EXPECT_NE(text.find("providers.exa.account: expected at most 100 bytes"), std::string::npos);
    EXPECT_NE(text.find("providers.brave.max_kept_s"), std::string::npos) << text;
    environment.files["sluice.toml"] = "[providers.exa]\naccount = \"team\"\nmax_kept_s = \"1h\"\n";
    const LoadedConfig loaded = load_config({}, environment);
    EXPECT_EQ(format_errors(loaded.errors), "");
    const auto accounts = loaded.config.web.default_accounts();
    EXPECT_EQ(accounts.at(*web::find_provider_index("exa")), "team");
    EXPECT_EQ(accounts.at(*web::find_provider_index("serper")), "");
    EXPECT_EQ(loaded.config.web.provider("exa").max_kept, std::chrono::hours(1));
}

// The key itself in place of its file is a mistake, and no part of what is told repeats it.
TEST(ConfigTest, ASecretsKeyIsNotShown) {
    const std::string hex(64, 'a');
    for (const std::string& key : {std::string("MARKERKEYMARKERKEY"), hex,
                                   std::string("q83vEjRW/niQq83vEjRWeJCrze8SNFZ4kKvN7xI0Vng=")}) {
        ConfigSources sources;
        sources.overrides = {{"secrets.key", key, "--set"}};
        const LoadedConfig loaded = load_config(sources, FakeEnvironment());
        EXPECT_THAT(format_errors(loaded.errors),
                    AllOf(HasSubstr("secrets.key"), HasSubstr("env:NAME"), Not(HasSubstr(key))));
        EXPECT_THAT(setting(loaded, "secrets.key").value, Not(HasSubstr(key)));
    }
    for (const char* place : {"env:KEY", "/etc/sluice/key", "./key", "secrets.key"}) {
        ConfigSources sources;
        sources.overrides = {{"secrets.key", place, "--set"}};
        const LoadedConfig loaded = load_config(sources, FakeEnvironment());
        EXPECT_EQ(format_errors(loaded.errors), "");
        EXPECT_THAT(setting(loaded, "secrets.key").value, HasSubstr(place));
    }
}

// Searches are counted in a file of their own, whatever the path to it looks like.
TEST(ConfigTest, TheFileOfCountsIsNobodyElses) {
    FakeEnvironment environment;
    for (const char* taken : {"d/pages.db", "./d/../d/pages.db", "d/keys.db", "d/access.db",
                              "d/usage.db", "d/secrets.key"}) {
        environment.files["sluice.toml"] =
            "data_dir = \"d\"\n[titles]\nbudget_file = \"" + std::string(taken) + "\"\n";
        const LoadedConfig loaded = load_config({}, environment);
        ASSERT_EQ(loaded.errors.size(), 1U) << taken;
        EXPECT_EQ(loaded.errors[0].key, "titles.budget_file");
        EXPECT_NE(loaded.errors[0].message.find("a file of its own"), std::string::npos);
    }
    environment.files["sluice.toml"] =
        "data_dir = \"d\"\n[titles]\nbudget_file = \"d/search-budget.db\"\n";
    EXPECT_TRUE(load_config({}, environment).errors.empty());
}

// Every provider that the design names may stand in a route before it is built.
TEST(ConfigTest, RoutesMayNameWhatIsNotBuilt) {
    FakeEnvironment environment;
    environment.files["sluice.toml"] =
        "[routing]\nfast = [\"wikipedia\", \"wikidata\", \"github\", \"stackexchange\","
        "\"hackernews\", \"arxiv\", \"crossref\", \"europepmc\", \"dockerhub\","
        "\"openlibrary\", \"openalex\", \"semantic_scholar\", \"pubmed\", \"dblp\", \"mwmbl\","
        "\"marginalia\", \"internet_archive\", \"npm\", \"crates\"]\n"
        "deep = [\"wikipedla\"]\n";
    const std::string text = format_errors(load_config({}, environment).errors);
    EXPECT_EQ(text.find("routing.fast"), std::string::npos) << text;
    EXPECT_NE(text.find("did you mean 'wikipedia'?"), std::string::npos) << text;
}

// Routes may name providers that other builds have; a base URL loses its trailing slashes.
TEST(ConfigTest, ProvidersAndRoutes) {
    FakeEnvironment environment;
    environment.files["sluice.toml"] =
        "[routing]\ndeep = [\"jina\", \"tavily\"]\n"
        "[providers.serper]\nbase_url = \"http://127.0.0.1:9//\"\nenabled = false\n";
    const LoadedConfig loaded = load_config({}, environment);
    EXPECT_EQ(format_errors(loaded.errors), "");
    EXPECT_EQ(loaded.config.web.route(web::Lane::kDeep),
              (std::vector<std::string>{"jina", "tavily"}));
    EXPECT_EQ(loaded.config.web.provider("serper").base_url, "http://127.0.0.1:9");
    EXPECT_FALSE(loaded.config.web.provider("serper").enabled);
    EXPECT_TRUE(loaded.config.web.provider("tavily").enabled);
}

// An error without a key is printed without one.
TEST(ConfigTest, ErrorsAreLines) {
    EXPECT_EQ(format_errors({{"a.toml:3", "", "not TOML"}, {"--listen", "server.listen", "no"}}),
              "a.toml:3: not TOML\n--listen: server.listen: no\n");
}

// Both variables of a provider count; lists have commas; blanks are no keys; the order of keys is
// the order in which they stand.
TEST(KeysFromEnvironmentTest, Variables) {
    struct Case {
        const char* what;
        std::map<std::string, std::string> variables;
        Keys expected;
    };
    const Case cases[] = {
        {"none", {}, {}},
        {"one", {{"SERPER_API_KEY", "a"}}, {{"serper", "a"}}},
        {"a list",
         {{"TAVILY_API_KEYS", "a, b,,c ,"}},
         {{"tavily", "a"}, {"tavily", "b"}, {"tavily", "c"}}},
        {"blank", {{"SERPER_API_KEYS", " , "}, {"TAVILY_API_KEY", ""}}, {}},
        {"both of one",
         {{"SERPER_API_KEY", "z"}, {"SERPER_API_KEYS", "a"}},
         {{"serper", "a"}, {"serper", "z"}}},
        {"both providers",
         {{"TAVILY_API_KEY", "t"}, {"SERPER_API_KEY", "s"}},
         {{"serper", "s"}, {"tavily", "t"}}},
        {"somebody else's", {{"EXAMPLE_API_KEY", "x"}, {"serper_api_key", "y"}}, {}},
    };
    for (const Case& c : cases) {
        FakeEnvironment environment;
        environment.variables = c.variables;
        EXPECT_EQ(keys(environment), c.expected) << c.what;
    }
}

}  // namespace
}  // namespace sluice::app
