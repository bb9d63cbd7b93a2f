// Text and addresses that a provider sent, made fit to be passed on: bounded, valid UTF-8, without
// control characters and what hides in a text (web/characters.h). Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::web {

// What one hit may bring along. Longer texts are cut at a code point; a longer URL is not usable.
inline constexpr std::size_t kMaxUrlBytes = 4 * 1024;
inline constexpr std::size_t kMaxTitleBytes = 1024;
inline constexpr std::size_t kMaxSnippetBytes = 8 * 1024;
inline constexpr std::size_t kMaxContentBytes = 1024 * 1024;
inline constexpr std::size_t kMaxAnswerBytes = 16 * 1024;

// What is looked at of a text of which `max_bytes` are wanted: four times as much, or
// 4 KiB. The rest may be megabytes of nothing but markup and white space.
std::string_view looked_at(std::string_view text, std::size_t max_bytes);

// One trimmed line: every run of white space, line breaks and control characters becomes one space.
// Hidden characters are left out, and joiners but between characters that they join. Bytes that are
// not UTF-8 become U+FFFD.
std::string one_line(std::string_view text, std::size_t max_bytes);

// The same, but line breaks ('\n' only), tabs and runs of spaces stay: for Markdown and long
// answers.
std::string many_lines(std::string_view text, std::size_t max_bytes);

// A written answer as many_lines() makes it, at most kMaxAnswerBytes; nothing when that is empty.
std::optional<std::string> answer_text(std::string_view text);

// The URL without the white space around it, if a client may follow it: http or https with a host
// that every reader takes for the same (web/host.h), without a user, no white space, control
// characters, quotes or angle brackets inside, at most kMaxUrlBytes. What would not be seen in it
// is percent-encoded.
std::optional<std::string> usable_url(std::string_view text);

}  // namespace sluice::web
