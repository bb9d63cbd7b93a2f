// The keys as the simulation knows them: what the operator decided, what providers said about each,
// and which calls carry it. Kept apart from the code under test and compared with it, at the start
// of every call and whenever the run looks.
#pragma once

#include "sim/violations.h"
#include "web/keys.h"
#include "web/verdict.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::sim {

struct KeyEntry {
    web::KeyRecord record;
    bool removed = false;
    Instant decided_at{};  // when the operator changed something last
    std::size_t in_flight = 0;

    std::size_t bound_before = 0;             // before `decided_at`, of its calls under way
    Instant rests_at_least = Instant::min();  // until then, if ever
    Instant rests_at_most = Instant::min();
    Instant followed_by = Instant::min();  // by then what it was told has come into force

    std::int64_t used = 0;  // calls in the period that began at `period`
    WallTime period{};
};

class KeyBooks {
 public:
    // What stands in every secret before the number of its key.
    static constexpr std::string_view kSecretMark = "sim-secret-";

    KeyBooks(const web::RuntimeConfig& config, const Clock& clock, Violations& violations)
        : config_(config), clock_(clock), violations_(violations) {}

    static std::string secret_of(std::uint64_t number);

    // The operator's doing. A new key has the secret of that number.
    void add(const web::KeyRecord& record, std::uint64_t number);
    void put(const web::KeyRecord& record);
    void remove(std::string_view id);
    void clear_rest(std::string_view id);

    // A call under way with a key; null: of none that there is.
    struct Call {
        KeyEntry* key = nullptr;
        WallTime period{};  // of the quota, that it is counted in
    };
    // A call starts with the key whose secret is somewhere in `text`: a violation when there is no
    // such key.
    Call start_call(std::string_view text);
    // What a proxy kept to itself, or did not get through, used up nothing of the key.
    enum class Met : bool { kProvider, kNobody };
    void end_call(const Call& call, Met met);
    // A provider said so in answer to a call with `key`. It comes into force within `delay`,
    // whatever the operator clears meanwhile.
    void tell_to_rest(KeyEntry& key, web::Reach reach, Millis least, Millis most, Millis delay);

    // Compares with the calls that were made what a process would know that starts now.
    void check_remembered(const std::vector<web::KeyReport>& reports);
    // Compares what the gateway says of its keys.
    void compare(const std::vector<web::KeyReport>& reports);
    // Nobody asks for anything any more.
    void check_idle();

    std::size_t told_to_rest() const { return told_to_rest_; }

 private:
    std::size_t bound_of(const web::KeyRecord& record) const;
    void check_quota(KeyEntry& key);
    void compare_one(const web::KeyReport& report);

    const web::RuntimeConfig config_;
    const Clock& clock_;
    Violations& violations_;
    std::map<std::string, KeyEntry, std::less<>> keys_;          // by id
    std::map<std::string, std::string, std::less<>> by_secret_;  // ids, by what is after the mark
    std::size_t told_to_rest_ = 0;
};

}  // namespace sluice::sim
