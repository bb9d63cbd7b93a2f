#include "base/exception.h"

#include <boost/core/demangle.hpp>

#include <typeinfo>

namespace sluice {

std::string exception_type(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return boost::core::demangle(typeid(e).name());
    } catch (...) {
        return "unknown";
    }
}

}  // namespace sluice
