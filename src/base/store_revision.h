// How far a store came, and on which way: whoever keeps something of a store in memory asks for
// this to learn whether anything changed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace sluice {

// Equal ones mean the same content. A number alone can't tell: a database that was restored from a
// backup counts again from where it was then, and comes to the same number on another way.
struct StoreRevision {
    std::int64_t number = 0;  // of changes; 0: of none
    // Of the last change, made at random with it. Empty in a store that nothing else can be put in
    // place of while it is open.
    std::string mark = {};

    StoreRevision() = default;  // no aggregate: see the rules in base/task.h
    StoreRevision(std::int64_t n, std::string m = {}) : number(n), mark(std::move(m)) {}
    bool operator==(const StoreRevision&) const = default;
};

}  // namespace sluice
