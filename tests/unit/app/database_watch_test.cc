// Files of databases that are moved, removed or replaced under a gateway that has them open.
#include "app/database_watch.h"

#include "support/collecting_sink.h"
#include "support/manual_clock.h"
#include "support/run_task.h"
#include "support/temp_dir.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sluice::app {
namespace {

namespace fs = std::filesystem;
using obs::Level;

class DatabaseWatchTest : public testing::Test {
 protected:
    DatabaseWatchTest() {
        for (const char* name : {"keys.db", "usage.db"}) {
            std::ofstream(dir_.file(name)) << name;
        }
    }
    std::size_t moved(const std::string& what) const { return sink_.count(Level::kError, what); }

    test::TempDir dir_;
    test::ManualClock clock_;
    test::CollectingSink sink_;
    obs::Log log_{clock_, sink_, Level::kInfo};
};

// Every file that the configuration keeps open, and none that a PostgreSQL stands in for.
TEST(DatabaseFiles, AreThoseThatAreOpened) {
    Config config;
    config.data_dir = "data";
    EXPECT_EQ(database_files(config),
              (std::vector<std::string>{"data/access.db", "data/usage.db", "data/keys.db",
                                        "data/pages.db", "data/search-budget.db"}));
    config.titles.budget_file = "elsewhere.db";
    EXPECT_EQ(database_files(config).back(), "elsewhere.db");
    config.titles.enabled = false;
    EXPECT_EQ(database_files(config).back(), "data/pages.db");
    config.replay.dir = "recordings";
    EXPECT_EQ(database_files(config)[2], "data/replay/keys.db");
    config.replay.dir.clear();
    config.database.postgres.target.emplace();
    EXPECT_TRUE(database_files(config).empty());
}

// Each change is told once, with what is there now, and so is that the file is back.
TEST_F(DatabaseWatchTest, TellsOnceWhatBecameOfAFile) {
    DatabaseWatch watch({dir_.file("keys.db"), dir_.file("usage.db"), dir_.file("absent.db")},
                        clock_, log_);
    watch.look();
    EXPECT_TRUE(sink_.lines().empty());

    fs::rename(dir_.file("keys.db"), dir_.file("aside"));
    watch.look();
    watch.look();
    EXPECT_EQ(moved("database_moved"), 1U);
    EXPECT_EQ(moved("\"found\":\"nothing\""), 1U);
    EXPECT_EQ(moved(dir_.file("keys.db")), 1U);
    EXPECT_EQ(moved("\"mend\":"), 1U);

    fs::rename(dir_.file("aside"), dir_.file("keys.db"));
    watch.look();
    EXPECT_EQ(sink_.count(Level::kInfo, "database_back"), 1U);

    // As a restore of a file by hand does: the path has a file all the time.
    std::ofstream(dir_.file("other")) << "a copy";
    fs::rename(dir_.file("other"), dir_.file("usage.db"));
    watch.look();
    watch.look();
    EXPECT_EQ(moved("\"found\":\"another file\""), 1U);
    EXPECT_EQ(moved("database_moved"), 2U);
}

// It looks by itself, and writing to a file is no change.
TEST_F(DatabaseWatchTest, LooksNowAndThen) {
    boost::asio::io_context io(1);
    DatabaseWatch watch({dir_.file("keys.db")}, clock_, log_);
    boost::asio::cancellation_signal stop;
    boost::asio::co_spawn(
        io, watch.run(),
        boost::asio::bind_cancellation_slot(stop.slot(), [](const std::exception_ptr&) {}));
    test::run_ready(io);
    std::ofstream(dir_.file("keys.db")) << "changed";
    clock_.advance(DatabaseWatch::kEvery);
    test::run_ready(io);
    EXPECT_TRUE(sink_.lines().empty());
    fs::remove(dir_.file("keys.db"));
    clock_.advance(DatabaseWatch::kEvery - Millis{1});
    test::run_ready(io);
    EXPECT_TRUE(sink_.lines().empty());
    clock_.advance(Millis{1});
    test::run_ready(io);
    EXPECT_EQ(moved("database_moved"), 1U);
    stop.emit(boost::asio::cancellation_type::terminal);
    test::run_ready(io);
}

}  // namespace
}  // namespace sluice::app
