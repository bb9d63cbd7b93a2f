#include "app/completion.h"

#include "base/join.h"

#include <functional>
#include <vector>

namespace sluice::app {

namespace {

using Visit = std::function<void(const std::string& path, const CommandNode& command)>;

// The root has the path "", and `keys add` the path "keys add".
void each_command(const CommandNode& command, const std::string& path, const Visit& visit) {
    visit(path, command);
    for (const CommandNode& below : command.commands) {
        each_command(below, path.empty() ? below.name : path + " " + below.name, visit);
    }
}

bool is_path(const CommandOption& option) {
    return option.value == "FILE" || option.value == "DIR";
}

bool takes_value(const CommandOption& option) {
    return !option.positional && !option.value.empty();
}

std::string replaced(std::string_view text, std::string_view characters, std::string_view before) {
    std::string out;
    for (const char c : text) {
        if (characters.find(c) != std::string_view::npos) {
            out.append(before);
        }
        out += c;
    }
    return out;
}

// Inside single quotes, where only their end has a meaning.
std::string shell_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        out.append(c == '\'' ? std::string_view("'\\''") : std::string_view(&c, 1));
    }
    return out + "'";
}

// "search -n"|"search --max-results": an option of a command, as a pattern of `case`.
std::string patterns(const std::string& path, const CommandOption& option) {
    std::vector<std::string> out;
    for (const std::string& name : option.names) {
        out.push_back("\"" + path + " " + name + "\"");
    }
    return join(out, "|");
}

// The cases of bash for the value that stands after an option, and for the words of each command.
struct BashCases {
    std::string commands;   // patterns of every word that leads from a command to one below it
    std::string values;     // of options that take a value
    std::string completed;  // what their values are
    std::string words;      // commands, options, and what a positional may be
};

void add_bash_option(BashCases& cases, const std::string& path, const CommandOption& option) {
    const std::string pattern = patterns(path, option);
    cases.values += (cases.values.empty() ? "" : "|") + pattern;
    cases.completed += "        " + pattern + ") ";
    if (!option.choices.empty()) {
        cases.completed += "words=" + shell_quoted(join(option.choices, " "));
    } else if (is_path(option)) {
        cases.completed += "paths=1";
    } else {
        cases.completed += "return";
    }
    cases.completed += " ;;\n";
}

void add_bash_command(BashCases& cases, const std::string& path, const CommandNode& command) {
    std::vector<std::string> words;
    bool paths = false;
    for (const CommandNode& below : command.commands) {
        words.push_back(below.name);
        cases.commands += (cases.commands.empty() ? "\"" : "|\"") + path + " " + below.name + "\"";
    }
    for (const CommandOption& option : command.options) {
        if (option.positional) {
            words.insert(words.end(), option.choices.begin(), option.choices.end());
            paths = paths || is_path(option);
            continue;
        }
        words.insert(words.end(), option.names.begin(), option.names.end());
        if (takes_value(option)) {
            add_bash_option(cases, path, option);
        }
    }
    cases.words += "            \"" + path + "\") words=" + shell_quoted(join(words, " ")) +
                   (paths ? " paths=1" : "") + " ;;\n";
}

std::string render_bash(const CommandNode& root) {
    BashCases cases;
    each_command(root, "", [&cases](const std::string& path, const CommandNode& command) {
        add_bash_command(cases, path, command);
    });
    return R"(# Completion of sluice for bash.
_sluice() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local path= word= skip= words= paths= i
    # bash takes "--by=day" for three words.
    if [[ $current == = ]]; then
        current=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ -n $skip ]]; then
            [[ $word == = ]] || skip=
            continue
        fi
        case "$path $word" in
            )" +
           cases.commands + R"() path=${path:+$path }$word ;;
            )" +
           cases.values + R"() skip=1 ;;
        esac
    done
    case "$path $before" in
)" + cases.completed +
           R"(        *) case "$path" in
)" + cases.words +
           R"(        esac ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    if [[ -n $paths && $current != -* ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
    fi
}
complete -F _sluice sluice
)";
}

// The last part of a specification of _arguments: what follows, and how it is completed.
std::string zsh_value(const CommandOption& option) {
    std::string action;
    if (!option.choices.empty()) {
        action = "(" + join(option.choices, " ") + ")";
    } else if (is_path(option)) {
        action = option.value == "DIR" ? "_files -/" : "_files";
    } else if (option.positional) {
        action = "{false}";  // offers nothing and lets options be offered, unlike no action
    }
    return ":" + replaced(option.value, "\\:", "\\") + ":" + action;
}

std::string zsh_arguments(const CommandNode& command) {
    std::string out;
    for (const CommandOption& option : command.options) {
        if (option.positional) {
            out += " \\\n        " + shell_quoted("*" + zsh_value(option));
            continue;
        }
        for (const std::string& name : option.names) {
            const std::string equals = takes_value(option) && name.starts_with("--") ? "=" : "";
            out += " \\\n        " +
                   shell_quoted("*" + name + equals + "[" + replaced(option.help, "\\[]:", "\\") +
                                "]" + (takes_value(option) ? zsh_value(option) : ""));
        }
    }
    return out;
}

std::string zsh_function(const std::string& path) {
    std::string out = "_sluice";
    for (const char c : path.empty() ? path : " " + path) {
        out += c == ' ' || c == '-' ? '_' : c;
    }
    return out;
}

std::string zsh_command(const std::string& path, const CommandNode& command) {
    std::string out = zsh_function(path) + "() {\n";
    if (command.commands.empty()) {
        return out + "    _arguments -s" + zsh_arguments(command) + "\n}\n";
    }
    std::string names;
    std::string cases;
    for (const CommandNode& below : command.commands) {
        names += " \\\n            " +
                 shell_quoted(below.name + ":" + replaced(below.help, "\\:", "\\"));
        cases += "            " + below.name + ") " +
                 zsh_function(path.empty() ? below.name : path + " " + below.name) + " ;;\n";
    }
    return out + "    local line state\n    local -a commands\n    _arguments -C" +
           zsh_arguments(command) +
           " \\\n        '1: :->command' '*::argument:->rest'\n"
           "    case $state in\n        command)\n            commands=(" +
           names +
           ")\n            _describe command commands ;;\n"
           "        rest) case $line[1] in\n" +
           cases + "        esac ;;\n    esac\n}\n";
}

std::string render_zsh(const CommandNode& root) {
    std::string out = "#compdef sluice\n# Completion of sluice for zsh.\n";
    each_command(root, "", [&out](const std::string& path, const CommandNode& command) {
        out += zsh_command(path, command);
    });
    // The file is the function's body when zsh loads it by itself, and a script when it is sourced.
    return out +
           "if [[ $funcstack[1] == _sluice ]]; then\n    _sluice \"$@\"\nelse\n"
           "    compdef _sluice sluice\nfi\n";
}

// fish knows two characters in single quotes.
std::string fish_quoted(std::string_view text) {
    return "'" + replaced(text, "\\'", "\\") + "'";
}

std::string fish_option(const CommandOption& option) {
    std::string out;
    for (const std::string& name : option.names) {
        if (!option.positional) {
            out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        }
    }
    if (takes_value(option)) {
        out += is_path(option) ? " -r -F" : " -x";
    } else if (option.positional && is_path(option)) {
        out += " -F";
    }
    if (!option.choices.empty()) {
        out += " -a " + fish_quoted(join(option.choices, " "));
    }
    return out;
}

void append_fish_command(std::string& out, const std::string& path, const CommandNode& command) {
    const std::string here =
        "complete -c sluice -n " + fish_quoted("__sluice_at " + fish_quoted(path));
    for (const CommandNode& below : command.commands) {
        out += here + " -a " + below.name + " -d " + fish_quoted(below.help) + "\n";
    }
    for (const CommandOption& option : command.options) {
        const std::string what = fish_option(option);
        if (!what.empty()) {
            out += here + what + " -d " + fish_quoted(option.help) + "\n";
        }
    }
}

std::string render_fish(const CommandNode& root) {
    std::string commands;
    std::string values;
    std::string rules;
    each_command(root, "", [&](const std::string& path, const CommandNode& command) {
        for (const CommandNode& below : command.commands) {
            commands += " " + fish_quoted(path + " " + below.name);
        }
        for (const CommandOption& option : command.options) {
            for (const std::string& name : option.names) {
                values += takes_value(option) ? " " + fish_quoted(path + " " + name) : "";
            }
        }
        append_fish_command(rules, path, command);
    });
    return "# Completion of sluice for fish.\n"
           "function __sluice_at --argument-names expected\n"
           "    set -l commands" +
           commands + "\n    set -l with_value" + values + R"(
    set -l path ''
    set -l skip
    set -l words (commandline -opc)
    for word in $words[2..]
        if test -n "$skip"
            set skip
        else if contains -- "$path $word" $commands
            set path (string trim -- "$path $word")
        else if contains -- "$path $word" $with_value
            set skip 1
        end
    end
    test "$path" = "$expected"
end
complete -c sluice -f
)" + rules;
}

}  // namespace

std::optional<std::string> render_completion(std::string_view shell, const CommandNode& root) {
    if (shell == "bash") {
        return render_bash(root);
    }
    if (shell == "zsh") {
        return render_zsh(root);
    }
    if (shell == "fish") {
        return render_fish(root);
    }
    return std::nullopt;
}

}  // namespace sluice::app
