// The command line: which command runs. Each command is a file in app/commands/.
#include "app/commands/commands.h"
#include "app/commands/common.h"

#include <CLI/CLI.hpp>
#include <sodium.h>

#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <functional>
#include <string>
#include <unistd.h>

namespace {

// Started with one of the standard descriptors closed, the process would get its number for a
// database or a connection, and log lines would be written into that. What a command has to say
// must not get lost, so that writing to a stdout that was closed still fails.
void occupy_standard_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) < 0) {
            // Takes the lowest number that is free.
            ::open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR);
        }
    }
}

// The exit code of a command that ended with `code`.
int with_output_checked(int code) {
    if (sluice::app::flush_output()) {
        return code;
    }
    sluice::app::print_error("the output could not be written");
    return code == 0 ? 1 : code;
}

}  // namespace

int main(int argc, char** argv) {
    occupy_standard_descriptors();
    if (sodium_init() < 0) {
        std::fputs("sluice: libsodium can't be initialised\n", stderr);
        return 1;
    }
    CLI::App app;
    app.failure_message(CLI::FailureMessage::simple);
    std::function<int()> chosen;
    sluice::app::add_commands(app, chosen);
    if (argc > 1 && argv[1][0] != '-' && !sluice::app::has_command(app, argv[1])) {
        return sluice::app::unknown_command(app, argv[1]);
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ConversionError& error) {
        if (!sluice::app::explain_wrong_value(app, error)) {
            app.exit(error);
        }
        return 2;
    } catch (const CLI::ParseError& error) {
        const auto end = static_cast<CLI::ExitCodes>(error.get_exit_code());
        if ((end == CLI::ExitCodes::ExtrasError || end == CLI::ExitCodes::RequiredError) &&
            sluice::app::explain_wrong_word(app)) {
            return 2;
        }
        // Help and version end with 0; a wrong command line with 2.
        return with_output_checked(app.exit(error) == 0 ? 0 : 2);
    }
    try {
        return with_output_checked(chosen());
    } catch (const std::exception& error) {
        // What Asio throws where the system has no descriptor, thread or memory left for a start.
        sluice::app::print_error(error.what());
        return 1;
    }
}
