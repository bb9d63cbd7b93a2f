// What an operator does with keys while the gateway runs: look, add, change, remove, try one. Any
// thread; the work is done on the control loop, and a change is in force for the next lease when
// its call returns. Where the store takes a change and can't be read right after it, the call
// succeeds all the same, and the change is in force as soon as the store can be read.
#pragma once

#include "access/spending.h"
#include "base/result.h"
#include "base/task.h"
#include "web/key_store.h"
#include "web/key_trial.h"
#include "web/key_watch.h"
#include "web/keys.h"

#include <string>
#include <vector>

namespace sluice::web {

struct KeyChange {
    KeyPatch patch;
    bool clear_penalty = false;

    KeyChange() = default;
};

// Errors beside those named are those of the store: kUnavailable and kOverloaded, with what to do.
class KeyAdmin {
 public:
    // References outlive it.
    KeyAdmin(Executor control, KeyStore& store, KeyWatch& watch, KeyPool& pool, KeyTrial& trial);

    Task<std::vector<KeyReport>> list();
    Task<Result<KeyReport>> get(std::string id);                       // kNotFound
    Task<Result<KeyReport>> add(NewKey key);                           // as KeyStore::add()
    Task<Result<KeyReport>> change(std::string id, KeyChange change);  // as KeyStore::patch()
    Task<Status> remove(std::string id);                               // as KeyStore::remove()

    // One cheap call with this key, whatever its state, paid for by `payer`; errors as
    // KeyTrial::run() has them.
    Task<Result<KeyTest>> test(std::string id, access::Payer payer);

 private:
    Task<Result<KeyReport>> get_here(std::string id);
    Task<Result<KeyReport>> changed(KeyRecord record);
    Task<Result<KeyReport>> add_here(NewKey key);
    Task<Result<KeyReport>> change_here(std::string id, KeyChange change);
    Task<Status> remove_here(std::string id);

    Executor control_;
    KeyStore& store_;
    KeyWatch& watch_;
    KeyPool& pool_;
    KeyTrial& trial_;
};

}  // namespace sluice::web
