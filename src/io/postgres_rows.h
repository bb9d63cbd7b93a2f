// What goes into a statement of PostgreSQL and what comes out of it. Values; any thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::io {

// A bytea.
struct PostgresBytes {
    std::string_view bytes;
};

// A parameter of a statement: a copy, since the statement is sent later.
class PostgresValue {
 public:
    PostgresValue(std::nullptr_t) {}
    template <std::integral T>
    PostgresValue(T number) : text_(std::to_string(number)) {}
    PostgresValue(std::string_view text) : text_(text) {}
    PostgresValue(const std::string& text) : text_(text) {}
    PostgresValue(const char* text) : text_(text) {}
    PostgresValue(PostgresBytes bytes) : text_(bytes.bytes), is_binary_(true) {}
    template <class T>
    PostgresValue(const std::optional<T>& value) {
        if (value) {
            *this = PostgresValue(*value);
        }
    }

    bool is_null() const { return !text_.has_value(); }
    const std::string& text() const { return *text_; }  // unless it is null
    bool is_binary() const { return is_binary_; }

 private:
    std::optional<std::string> text_ = {};
    bool is_binary_ = false;
};

using PostgresValues = std::vector<PostgresValue>;

// Texts as a parameter of an array type: "$1::text[]", or of numbers "$1::bigint[]".
std::string postgres_array(const std::vector<std::string>& elements);

// The rows of a statement, all of them, in PostgreSQL's binary format. Rows and columns count from
// 0; NULL reads as 0 and as empty. Views live as long as this object.
class PostgresRows {
 public:
    std::size_t size() const { return columns_ == 0 ? 0 : cells_.size() / columns_; }
    bool empty() const { return size() == 0; }
    // How many rows a statement changed, or gave.
    std::int64_t changed() const { return changed_; }
    std::size_t bytes() const;

    bool is_null(std::size_t row, std::size_t column) const;
    // Of a column of type int2, int4 or int8 (asserted).
    std::int64_t integer(std::size_t row, std::size_t column) const;
    std::optional<std::int64_t> optional_integer(std::size_t row, std::size_t column) const;
    // Of text and bytea.
    std::string_view text(std::size_t row, std::size_t column) const;

    // For PostgresConnection: cells come row by row.
    void set_columns(std::size_t columns) { columns_ = columns; }
    void add_cell(std::optional<std::string_view> bytes);
    void set_changed(std::int64_t changed) { changed_ = changed; }

 private:
    struct Cell {
        std::size_t begin = 0;
        std::size_t size = 0;
        bool is_null = false;
    };
    const Cell& cell(std::size_t row, std::size_t column) const;

    std::size_t columns_ = 0;
    std::vector<Cell> cells_;
    std::string data_;
    std::int64_t changed_ = 0;
};

}  // namespace sluice::io
