#include "app/private_loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>

namespace sluice::app {

struct PrivateLoop::Loop {
    boost::asio::io_context io{1};
};

PrivateLoop::PrivateLoop() : loop_(std::make_unique<Loop>()) {}
PrivateLoop::~PrivateLoop() = default;

Executor PrivateLoop::executor() {
    return loop_->io.get_executor();
}

void PrivateLoop::run(Task<void> task) {
    bool ended = false;
    std::exception_ptr error;
    boost::asio::co_spawn(loop_->io, std::move(task), [&](const std::exception_ptr& e) {
        ended = true;
        error = e;
    });
    loop_->io.restart();
    while (!ended && loop_->io.run_one() > 0) {
    }
    if (error) {
        std::rethrow_exception(error);
    }
}

}  // namespace sluice::app
