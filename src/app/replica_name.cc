#include "app/replica_name.h"

#include "base/random_hex.h"
#include "base/text.h"
#include "io/files.h"

#include <cstddef>
#include <string_view>

namespace sluice::app {

namespace {

constexpr std::size_t kBytes = 8;
constexpr std::size_t kMaxFileBytes = 64;

bool is_name(std::string_view text) {
    return text.size() == 2 * kBytes &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Result<std::string> replica_name(const std::string& data_dir, const Environment& environment,
                                 Random& random) {
    const std::string path = data_dir + "/replica";
    Result<std::string> text = environment.read_file(path, kMaxFileBytes);
    if (!text.ok() && text.error().code == Code::kNotFound) {
        TRY_STATUS(io::make_file_once(path, random_hex<kBytes>(random) + "\n"));
        text = environment.read_file(path, kMaxFileBytes);
    }
    if (!text.ok()) {
        return text.error();
    }
    std::string name(trim(*text));
    if (!is_name(name)) {
        return Error{Code::kInvalidRequest,
                     Blame::kCaller,
                     path + " holds no name of a replica; remove it, and one is made",
                     {}};
    }
    return name;
}

}  // namespace sluice::app
