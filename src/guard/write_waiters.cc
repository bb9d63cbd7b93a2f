#include "guard/write_waiters.h"

#include "guard/event.h"

#include <algorithm>

namespace sluice::guard {

struct WriteWaiters::Waiting {
    std::uint64_t write = 0;
    Event done = {};
    bool written = false;
};

// A place in the list for as long as this object lives.
class WriteWaiters::Entry {
 public:
    Entry(std::vector<Waiting*>& list, Waiting& waiting) : list_(list), waiting_(&waiting) {
        list_.push_back(waiting_);
    }
    ~Entry() { std::erase(list_, waiting_); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

 private:
    std::vector<Waiting*>& list_;
    Waiting* const waiting_;
};

Task<WriteEnd> WriteWaiters::wait(Clock& clock, std::uint64_t write, Instant enough,
                                  Instant deadline) {
    Waiting call;
    call.write = write;
    const Entry entry(waiting_, call);
    const WaitEnd end = co_await call.done.wait_until(clock, std::min(enough, deadline));
    if (call.written) {
        co_return WriteEnd::kWritten;
    }
    if (end == WaitEnd::kCancelled) {
        co_return WriteEnd::kCancelled;
    }
    if (end == WaitEnd::kDeadline && deadline < enough) {
        co_return WriteEnd::kDeadline;
    }
    co_return WriteEnd::kLost;
}

std::size_t WriteWaiters::tell(std::uint64_t write, bool written) {
    return std::erase_if(waiting_, [&](Waiting* waiting) {
        if (waiting->write > write) {
            return false;
        }
        waiting->written = written;
        waiting->done.set();
        return true;
    });
}

}  // namespace sluice::guard
