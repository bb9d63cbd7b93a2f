#include "io/postgres_rows.h"

#include "base/result.h"

namespace sluice::io {

std::string postgres_array(const std::vector<std::string>& elements) {
    std::string array("{");
    for (const std::string& element : elements) {
        array.append(array.size() == 1 ? "\"" : ",\"");
        for (const char c : element) {
            if (c == '"' || c == '\\') {
                array.push_back('\\');
            }
            array.push_back(c);
        }
        array.push_back('"');
    }
    array.push_back('}');
    return array;
}

std::size_t PostgresRows::bytes() const {
    return data_.size() + cells_.size() * sizeof(Cell);
}

const PostgresRows::Cell& PostgresRows::cell(std::size_t row, std::size_t column) const {
    SLUICE_ASSERT(row < size() && column < columns_);
    return cells_[row * columns_ + column];
}

bool PostgresRows::is_null(std::size_t row, std::size_t column) const {
    return cell(row, column).is_null;
}

std::int64_t PostgresRows::integer(std::size_t row, std::size_t column) const {
    const std::string_view bytes = text(row, column);
    if (is_null(row, column)) {
        return 0;
    }
    std::uint64_t number = 0;
    for (const char byte : bytes) {
        number = number << 8U | static_cast<unsigned char>(byte);
    }
    switch (bytes.size()) {
        case 2:
            return static_cast<std::int16_t>(number);
        case 4:
            return static_cast<std::int32_t>(number);
        case 8:
            return static_cast<std::int64_t>(number);
        default:
            SLUICE_ASSERT(false && "a column that is no integer");
    }
}

std::optional<std::int64_t> PostgresRows::optional_integer(std::size_t row,
                                                           std::size_t column) const {
    return is_null(row, column) ? std::nullopt : std::optional(integer(row, column));
}

std::string_view PostgresRows::text(std::size_t row, std::size_t column) const {
    const Cell& found = cell(row, column);
    return std::string_view(data_).substr(found.begin, found.size);
}

void PostgresRows::add_cell(std::optional<std::string_view> bytes) {
    Cell added;
    added.begin = data_.size();
    added.is_null = !bytes.has_value();
    if (bytes) {
        added.size = bytes->size();
        data_.append(*bytes);
    }
    cells_.push_back(added);
}

}  // namespace sluice::io
