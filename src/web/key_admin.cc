#include "web/key_admin.h"

#include <utility>

namespace sluice::web {

namespace {

Error no_such_key() {
    return Error{Code::kNotFound, Blame::kCaller, "there is no key of that id", {}};
}

}  // namespace

KeyAdmin::KeyAdmin(Executor control, KeyStore& store, KeyWatch& watch, KeyPool& pool,
                   KeyTrial& trial)
    : control_(std::move(control)), store_(store), watch_(watch), pool_(pool), trial_(trial) {}

Task<std::vector<KeyReport>> KeyAdmin::list() {
    return run_on(control_, pool_.report());
}

Task<Result<KeyReport>> KeyAdmin::get(std::string id) {
    return run_on(control_, get_here(std::move(id)));
}

Task<Result<KeyReport>> KeyAdmin::add(NewKey key) {
    return run_on(control_, add_here(std::move(key)));
}

Task<Result<KeyReport>> KeyAdmin::change(std::string id, KeyChange change) {
    return run_on(control_, change_here(std::move(id), std::move(change)));
}

Task<Status> KeyAdmin::remove(std::string id) {
    return run_on(control_, remove_here(std::move(id)));
}

Task<Result<KeyTest>> KeyAdmin::test(std::string id, access::Payer payer) {
    return run_on(control_, trial_.run(std::move(id), std::move(payer)));
}

Task<Result<KeyReport>> KeyAdmin::get_here(std::string id) {
    auto report = co_await pool_.report_one(std::move(id));
    if (!report) {
        co_return no_such_key();
    }
    co_return *std::move(report);
}

// What the store has taken has happened, whether the pool can hear of it now or not.
Task<Result<KeyReport>> KeyAdmin::changed(KeyRecord record) {
    co_await watch_.catch_up();
    std::string id = record.id;
    const auto known = co_await pool_.report_one(std::move(id));
    co_return KeyReport{std::move(record), known ? known->health : KeyHealth{}};
}

Task<Result<KeyReport>> KeyAdmin::add_here(NewKey key) {
    CO_TRY(KeyRecord record, co_await store_.add(std::move(key)));
    co_return co_await changed(std::move(record));
}

Task<Result<KeyReport>> KeyAdmin::change_here(std::string id, KeyChange change) {
    if (change.patch.changes_nothing()) {
        if (change.clear_penalty && !pool_.clear_rest(id)) {
            co_return no_such_key();
        }
        co_return co_await get_here(std::move(id));
    }
    CO_TRY(KeyRecord patched, co_await store_.patch(id, std::move(change.patch)));
    SLUICE_ASSERT(patched.id == id);
    if (change.clear_penalty) {
        pool_.clear_rest(id);  // one that the pool has not heard of does not rest
    }
    co_return co_await changed(std::move(patched));
}

Task<Status> KeyAdmin::remove_here(std::string id) {
    CO_TRY_STATUS(co_await store_.remove(std::move(id)));
    co_await watch_.catch_up();
    co_return Status();
}

}  // namespace sluice::web
