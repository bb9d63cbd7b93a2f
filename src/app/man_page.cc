#include "app/man_page.h"

namespace sluice::app {

namespace {

// What does not come from the declarations of commands.
constexpr std::string_view kEnd =
    R"(.SH EXIT STATUS
.TP
0
done
.TP
1
it failed, or its output could not be written
.TP
2
the command line or the configuration is wrong
.SH SIGNALS
.TP
SIGTERM, SIGINT
.B sluice serve
finishes what is under way and ends.
.TP
SIGHUP
.B sluice serve
reads its configuration again.
.SH ENVIRONMENT
Every setting may be given as a variable
.BR SLUICE__SECTION__KEY ,
and provider keys as
.B SERPER_API_KEYS
and the like, several with commas.
.SH FILES
.TP
.I sluice.toml
the configuration, in the working directory; the package uses
.I /etc/sluice/sluice.toml
.TP
.I sluice\-data
everything durable; the package uses
.I /var/lib/sluice
)";

std::string escaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        // A dot or an apostrophe that begins a line would be a request.
        if ((c == '.' || c == '\'') && (i == 0 || text[i - 1] == '\n')) {
            out += "\\&";
        }
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

void append_option(std::string& out, const CommandOption& option) {
    out += ".TP\n";
    std::string names;
    for (const std::string& name : option.names) {
        names += (names.empty() ? "" : ", ") +
                 (option.positional ? "\\fI" + escaped(name) : "\\fB" + escaped(name)) + "\\fR";
    }
    if (!option.positional && !option.value.empty()) {
        names += " \\fI" + escaped(option.value) + "\\fR";
    }
    out += names + "\n" + escaped(option.help) + "\n";
    if (!option.choices.empty()) {
        std::string list;
        for (const std::string& choice : option.choices) {
            list += (list.empty() ? "" : ", ") + choice;
        }
        out += "[" + escaped(list) + "]\n";
    }
}

void append_command(std::string& out, const CommandNode& command, const std::string& path) {
    const std::string name = path + " " + command.name;
    out += ".SS " + escaped(name) + "\n" + escaped(command.help) + "\n";
    for (const CommandOption& option : command.options) {
        append_option(out, option);
    }
    if (!command.footer.empty()) {
        out += ".PP\n.nf\n" + escaped(command.footer) + "\n.fi\n";
    }
    for (const CommandNode& below : command.commands) {
        append_command(out, below, name);
    }
}

}  // namespace

std::string render_man_page(const CommandNode& root, std::string_view version) {
    std::string out = ".TH SLUICE 1 \"\" \"sluice " + escaped(version) + "\" \"User Commands\"\n";
    out += ".SH NAME\nsluice \\- one door for every search\n";
    out +=
        ".SH SYNOPSIS\n.B sluice\n.I COMMAND\n.RI [ OPTION ...]\n"
        ".SH DESCRIPTION\n"
        "Applications and agents talk to one address, and Sluice asks the search providers that "
        "you have keys for.\n.SH OPTIONS\n";
    for (const CommandOption& option : root.options) {
        append_option(out, option);
    }
    out += ".SH COMMANDS\n";
    for (const CommandNode& command : root.commands) {
        append_command(out, command, root.name);
    }
    return out.append(kEnd);
}

}  // namespace sluice::app
