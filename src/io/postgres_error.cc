#include "io/postgres_error.h"

#include "base/text.h"
#include "io/postgres_connection.h"

#include <libpq-fe.h>

namespace sluice::io {

namespace {

constexpr std::size_t kMaxMessageBytes = 300;

std::string_view field(const pg_result* result, int code) {
    const char* text = PQresultErrorField(result, code);
    return text == nullptr ? std::string_view() : std::string_view(text);
}

// The classes of SQLSTATE whose errors are of no statement: connections, resources, an operator who
// intervened, the system.
bool is_of_the_server(std::string_view state) {
    return state.starts_with("08") || state.starts_with("53") || state.starts_with("57") ||
           state.starts_with("58") || state.starts_with("25") || state.empty();
}

}  // namespace

Error away(std::string message) {
    return Error{Code::kUnavailable, Blame::kGateway, std::move(message), kAskAgainAfter};
}

Error to_error(const pg_result* result) {
    const std::string_view state = field(result, PG_DIAG_SQLSTATE);
    std::string message = "the database refused a statement (" + std::string(state) +
                          "): " + one_line(field(result, PG_DIAG_MESSAGE_PRIMARY));
    if (state.starts_with("23")) {
        return Error{Code::kConflict, Blame::kGateway, std::move(message), {}};
    }
    // Of objects by a name: only steps of a schema make any.
    if (state == "42P07" || state == "42701" || state == "42710" || state == "42723") {
        return Error{Code::kConflict, Blame::kGateway, std::move(message), {}};
    }
    if (state == "42P01") {  // somebody took it away, as a restore does for a while
        message += "; where no restore is under way, restore the database from a backup";
        return away(std::move(message));
    }
    if (state == "42501") {
        message +=
            "; its user has to own the tables sluice_..., or to be granted them, and to be able to "
            "make tables";
        return Error{Code::kUnavailable, Blame::kGateway, std::move(message), {}};
    }
    if (state.starts_with("42")) {
        return Error{Code::kInternal, Blame::kGateway, std::move(message), {}};
    }
    return away(std::move(message));  // 57014, a statement that took too long, too
}

bool ends_connection(const pg_result* result) {
    const std::string_view state = field(result, PG_DIAG_SQLSTATE);
    // A statement that took too long (57014) and a full disk (53100) leave the connection as it is.
    return state == "26000" ||
           (is_of_the_server(state) && state != "57014" && !state.starts_with("53"));
}

std::string one_line(std::string_view message) {
    std::string line;
    for (const char c : trim(message)) {
        const bool is_plain = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
        line.push_back(is_plain ? c : ' ');
        if (line.size() == kMaxMessageBytes) {
            break;
        }
    }
    return is_valid_utf8(line) ? line : "a message that is not UTF-8";
}

}  // namespace sluice::io
