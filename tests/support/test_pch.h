// Precompiled for every GoogleTest program. Nothing may rely on it: each file still includes what
// it uses.
#pragma once

#include "base/pch.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <thread>
