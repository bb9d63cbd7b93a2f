#include "io/redis_state.h"

#include <algorithm>
#include <cstddef>

namespace sluice::io {

RedisScript state_script(std::string_view body) {
    constexpr std::string_view kHead = R"(
local names = {unpack(KEYS)}
local function act()
)";
    constexpr std::string_view kTail = R"(
end
local is_done, reply = pcall(act)
if is_done then
  return reply
end
local why = type(reply) == 'table' and reply.err or tostring(reply)
for word in string.gmatch('OOM READONLY MISCONF NOREPLICAS MASTERDOWN NOPERM', '%u+') do
  if string.find(why, word .. ' ', 1, true) then
    return redis.error_reply(word .. ' in a script')
  end
end
redis.call('DEL', unpack(names))
return {'stale', why})";
    return RedisScript(std::string(kHead).append(body).append(kTail));
}

std::string why_lost(const RedisReply& stale) {
    constexpr std::size_t kMostBytes = 200;
    if (stale.elements.size() < 2) {
        return "it was emptied, or another replica began it again";
    }
    const std::string& why = stale.elements[1].text;
    return why.substr(0, std::min(why.size(), kMostBytes));
}

std::string info_value(std::string_view info, std::string_view name) {
    const std::string line = std::string("\n").append(name).append(":");
    const std::size_t at = info.find(line);
    if (at == std::string_view::npos) {
        return {};
    }
    const std::string_view value = info.substr(at + line.size());
    return std::string(value.substr(0, value.find('\r')));
}

}  // namespace sluice::io
