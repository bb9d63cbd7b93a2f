#include "io/sqlite_store.h"

#include "io/sqlite_metrics.h"
#include "support/run_io.h"
#include "support/temp_dir.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::io {
namespace {

namespace asio = boost::asio;
using test::run_io;
using test::TempDir;

constexpr std::array kSchema = {
    SqliteMigration{"CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE)"},
};

class SqliteStoreTest : public testing::Test {
 protected:
    std::unique_ptr<SqliteStore> make_store(std::size_t max_queued = 8) {
        return std::make_unique<SqliteStore>(
            "test", SqliteConnection::open(dir_.file("a.db"), kSchema).value(), metrics_,
            max_queued);
    }
    double jobs(const std::string& outcome) {
        return metrics_.counter(kSqliteJobs, {"test", outcome}).value();
    }
    double queued() { return metrics_.gauge(kSqliteQueued, {"test"}).value(); }

    TempDir dir_;
    obs::Metrics metrics_;
    asio::io_context io_{1};
};

// Holds the store's thread until released, so that a test can fill the queue behind it.
class Gate {
 public:
    // A job that reports that it began and then waits.
    auto job() {
        return [this](SqliteConnection&) -> Status {
            began_.set_value();
            released_.get_future().wait();
            return {};
        };
    }
    void wait_until_closed() { began_.get_future().wait(); }
    void release() { released_.set_value(); }

 private:
    std::promise<void> began_;
    std::promise<void> released_;
};

Task<Status> insert(SqliteStore& store, std::int64_t id) {
    auto work = [id](SqliteConnection& db) -> Status {
        TRY_STATUS(db.change("INSERT INTO item (id) VALUES (?1)", {id}));
        return {};
    };
    co_return co_await store.run(std::move(work));
}

Task<Result<std::int64_t>> count(SqliteStore& store) {
    auto work = [](SqliteConnection& db) { return db.integer("SELECT count(*) FROM item"); };
    co_return co_await store.run(std::move(work));
}

Task<void> keep_status(Task<Status> task, std::optional<Status>& out) {
    out.emplace(co_await std::move(task));
}

// The work runs on the store's thread, and the caller goes on where it was.
TEST_F(SqliteStoreTest, WorkRunsOnItsOwnThread) {
    auto store = make_store();
    struct Threads {
        std::thread::id work;
        std::thread::id after;
    };
    auto look = [](SqliteStore& target) -> Task<Threads> {
        auto work = [](SqliteConnection&) -> Result<std::thread::id> {
            return std::this_thread::get_id();
        };
        Threads threads;
        threads.work = (co_await target.run(std::move(work))).value();
        threads.after = std::this_thread::get_id();
        co_return threads;
    };
    const Threads threads = run_io(io_, look(*store));
    EXPECT_NE(threads.work, std::this_thread::get_id());
    EXPECT_EQ(threads.after, std::this_thread::get_id());
}

// Values and errors of the work come back as they are.
TEST_F(SqliteStoreTest, ResultsComeBack) {
    auto store = make_store();
    ASSERT_TRUE(run_io(io_, insert(*store, 1)).ok());
    EXPECT_EQ(run_io(io_, count(*store)).value(), 1);
    const Status twice = run_io(io_, insert(*store, 1));
    ASSERT_FALSE(twice.ok());
    EXPECT_EQ(twice.error().code, Code::kConflict);
    EXPECT_EQ(jobs("succeeded"), 2);
    EXPECT_EQ(jobs("failed"), 1);
}

// An exception is a bug of the work: its caller sees it, and the store goes on.
TEST_F(SqliteStoreTest, AnExceptionReachesTheCaller) {
    auto store = make_store();
    auto broken = [](SqliteStore& target) -> Task<Status> {
        auto work = [](SqliteConnection&) -> Status { throw std::logic_error("a bug"); };
        co_return co_await target.run(std::move(work));
    };
    EXPECT_THROW(static_cast<void>(run_io(io_, broken(*store))), std::logic_error);
    EXPECT_TRUE(run_io(io_, insert(*store, 1)).ok());
}

// Jobs of one caller run in the order of their calls.
TEST_F(SqliteStoreTest, JobsRunInOrder) {
    auto store = make_store(64);
    std::vector<int> order;  // touched by the store's thread only, until all is done
    auto note = [](SqliteStore& target, std::vector<int>& seen, int i) -> Task<void> {
        auto work = [&seen, i](SqliteConnection&) -> Status {
            seen.push_back(i);
            return {};
        };
        static_cast<void>(co_await target.run(std::move(work)));
    };
    for (int i = 0; i < 40; ++i) {
        asio::co_spawn(io_, note(*store, order, i), asio::detached);
    }
    io_.run();
    ASSERT_EQ(order.size(), 40U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// A full queue refuses at once; what was queued is still done.
TEST_F(SqliteStoreTest, AFullQueueRefuses) {
    auto store = make_store(2);
    Gate gate;
    asio::co_spawn(io_, store->run(gate.job()), [](std::exception_ptr, Status) {});
    io_.poll();
    gate.wait_until_closed();
    std::array<std::optional<Status>, 3> answers;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        asio::co_spawn(io_, keep_status(insert(*store, static_cast<std::int64_t>(i)), answers[i]),
                       asio::detached);
    }
    io_.poll();
    ASSERT_TRUE(answers[2].has_value());
    EXPECT_EQ(answers[2]->error().code, Code::kOverloaded);
    EXPECT_FALSE(answers[0].has_value());
    EXPECT_EQ(queued(), 2);
    gate.release();
    io_.run();
    EXPECT_TRUE(answers[0]->ok());
    EXPECT_TRUE(answers[1]->ok());
    EXPECT_EQ(queued(), 0);
    EXPECT_EQ(jobs("refused"), 1);
}

// A caller that leaves before its job began takes the job out of the queue.
TEST_F(SqliteStoreTest, ACancelledCallerWithdrawsItsJob) {
    auto store = make_store();
    Gate gate;
    asio::co_spawn(io_, store->run(gate.job()), [](std::exception_ptr, Status) {});
    io_.poll();
    gate.wait_until_closed();
    asio::cancellation_signal leave;
    bool ended = false;
    asio::co_spawn(
        io_, insert(*store, 1),
        asio::bind_cancellation_slot(leave.slot(), [&](std::exception_ptr, Status status) {
            ended = true;
            EXPECT_EQ(status.error().code, Code::kCancelled);
        }));
    io_.poll();
    leave.emit(asio::cancellation_type::terminal);
    io_.poll();
    EXPECT_TRUE(ended);
    EXPECT_EQ(queued(), 0);
    EXPECT_EQ(jobs("cancelled"), 1);
    gate.release();
    io_.run();
    EXPECT_EQ(run_io(io_, count(*store)).value(), 0);
}

// A job that began is finished and reported, whether its caller still waits or was cancelled.
TEST_F(SqliteStoreTest, ACancelledCallerGetsWhatBeganBefore) {
    auto store = make_store();
    Gate gate;
    asio::cancellation_signal leave;
    bool ended = false;
    asio::co_spawn(
        io_, store->run(gate.job()),
        asio::bind_cancellation_slot(leave.slot(), [&](std::exception_ptr, Status status) {
            ended = true;
            EXPECT_TRUE(status.ok());
        }));
    io_.poll();
    gate.wait_until_closed();
    leave.emit(asio::cancellation_type::terminal);
    io_.poll();
    EXPECT_FALSE(ended);
    gate.release();
    io_.run();
    EXPECT_TRUE(ended);
    EXPECT_EQ(jobs("cancelled"), 0);
}

// The destructor does what is queued, even for callers whose loop runs no more, and their tasks are
// destroyed with the loop.
TEST_F(SqliteStoreTest, TheDestructorFinishesQueuedWork) {
    {
        asio::io_context io(1);
        auto store = make_store();
        // Keeps the thread busy while the destructor begins: with no more time the rest of the test
        // still holds, it only tests less.
        std::promise<void> never;
        auto slow = [&never](SqliteConnection&) -> Status {
            never.get_future().wait_for(Millis{100});
            return {};
        };
        asio::co_spawn(io, store->run(slow), [](std::exception_ptr, Status) {});
        for (std::int64_t id = 1; id <= 5; ++id) {
            asio::co_spawn(io, insert(*store, id), [](std::exception_ptr, Status) {});
        }
        io.poll();
        store.reset();
    }
    auto store = make_store();
    EXPECT_EQ(run_io(io_, count(*store)).value(), 5);
}

Task<void> insert_many(SqliteStore& store, std::int64_t first, int times, std::atomic<int>& done) {
    for (int i = 0; i < times; ++i) {
        const Status status = co_await insert(store, first + i);
        done += status.ok() ? 1 : 0;
    }
}

// Callers on several threads share one store.
TEST_F(SqliteStoreTest, SeveralLoopsShareAStore) {
    auto store = make_store(64);
    std::atomic<int> done = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&store, &done, t] {
            asio::io_context io(1);
            for (int i = 0; i < 4; ++i) {
                asio::co_spawn(io, insert_many(*store, 10'000 * t + 1'000 * i, 25, done),
                               asio::detached);
            }
            io.run();
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(done, 400);
    EXPECT_EQ(run_io(io_, count(*store)).value(), 400);
}

}  // namespace
}  // namespace sluice::io
