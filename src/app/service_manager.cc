#include "app/service_manager.h"

#include <chrono>
#include <cstdint>
#include <systemd/sd-daemon.h>

namespace sluice::app {

namespace {

void tell(const std::string& message) {
    ::sd_notify(0, message.c_str());
}

}  // namespace

void ServiceManager::ready(const std::string& status) const {
    tell("READY=1\nSTATUS=" + status);
}

void ServiceManager::reloading() const {
    // The steady clock is CLOCK_MONOTONIC, by which systemd tells this reload from an earlier one.
    const auto now =
        std::chrono::duration_cast<std::chrono::microseconds>(clock_.now().time_since_epoch());
    tell("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now.count()) +
         "\nSTATUS=reading the configuration again");
}

void ServiceManager::stopping() const {
    tell("STOPPING=1\nSTATUS=finishing what is under way");
}

void ServiceManager::alive() const {
    tell("WATCHDOG=1");
}

std::optional<Millis> ServiceManager::alive_interval() {
    std::uint64_t limit_us = 0;
    if (::sd_watchdog_enabled(0, &limit_us) <= 0) {
        return std::nullopt;
    }
    return std::chrono::duration_cast<Millis>(std::chrono::microseconds(limit_us)) / 2;
}

}  // namespace sluice::app
