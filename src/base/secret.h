// Types for text that must not leak. They have no stream operator and no formatter, the logger's
// fields refuse them at compile time, and the reader of one is easy to grep: reveal().
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace sluice {

// A key, a token, a password. Wiped when destroyed. Compared in constant time.
class Secret {
 public:
    Secret() = default;
    explicit Secret(std::string text) : text_(std::move(text)) {}
    Secret(const Secret& other) = default;
    Secret(Secret&& other) noexcept;
    Secret& operator=(const Secret& other);
    Secret& operator=(Secret&& other) noexcept;
    ~Secret();

    // For the wire and the cipher only; never for a log, a metric or an answer.
    std::string_view reveal() const { return text_; }
    bool empty() const { return text_.empty(); }

    // What people may see of it: the last four characters, or nothing when it is shorter than
    // twelve.
    std::string last4() const;

    // Takes the same time wherever the two differ (lengths are not hidden).
    bool equals(std::string_view other) const;

 private:
    void wipe();
    std::string text_;
};

// What somebody searches for. Same refusal to be printed; not wiped, since answers carry it.
class QueryText {
 public:
    QueryText() = default;
    explicit QueryText(std::string text) : text_(std::move(text)) {}

    std::string_view reveal() const { return text_; }
    bool empty() const { return text_.empty(); }
    bool operator==(const QueryText&) const = default;

 private:
    std::string text_;
};

// Constant-time comparison of two byte strings; false at once when the lengths differ.
bool constant_time_equal(std::string_view a, std::string_view b);

}  // namespace sluice
