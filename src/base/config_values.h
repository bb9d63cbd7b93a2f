// How the values of settings are written: durations, sizes and the rest, to and from text. Pure
// functions; base/config_reader.h is what uses them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Of each, the whole text or nothing. Blanks around it are ignored.
std::optional<std::int64_t> parse_whole_number(std::string_view text);
std::optional<double> parse_decimal(std::string_view text);
// true, yes, on, 1 and their opposites, in any case.
std::optional<bool> parse_switch(std::string_view text);

// Seconds as a plain number, or a number with one of ms, s, m, h, d; a whole number of milliseconds
// in the end.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
std::optional<std::chrono::milliseconds> duration_of_seconds(double seconds);

// Bytes as a plain number, or a number with one of KiB, MiB, GiB, TiB, KB, MB, GB, TB in any case;
// a whole number of bytes in the end.
std::optional<std::uint64_t> parse_size(std::string_view text);

// With the largest unit that gives a whole number: "1500ms", "2s", "15m", "30d".
std::string format_duration(std::chrono::milliseconds duration);
// As a number of seconds: "300", "0.25".
std::string format_seconds(std::chrono::milliseconds duration);
// With the largest binary unit that gives a whole number, down to plain bytes: "64KiB", "1000".
std::string format_size(std::uint64_t bytes);
// The shortest form that reads back the same.
std::string format_decimal(double number);

// As a basic string of TOML, and an array of them.
std::string toml_string(std::string_view text);
std::string toml_list(const std::vector<std::string>& texts);

}  // namespace sluice
