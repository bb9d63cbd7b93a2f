#include "base/exception.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace sluice {
namespace {

// An exception is named without its text, which may hold a query.
TEST(ExceptionTest, TypeWithoutText) {
    EXPECT_EQ(exception_type(std::make_exception_ptr(std::out_of_range("secret query"))),
              "std::out_of_range");
    EXPECT_EQ(exception_type(std::make_exception_ptr(5)), "unknown");
}

}  // namespace
}  // namespace sluice
