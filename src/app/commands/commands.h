// The commands of the binary. Each function declares one on `app` (name, help, options) and, when
// it is the one that was asked for, puts what to run into `chosen`; that returns the exit code: 0
// done, 1 it failed, 2 the command line or the configuration is wrong.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
class ConversionError;
}  // namespace CLI

namespace sluice::app {

void add_serve(CLI::App& app, std::function<int()>& chosen);
void add_check(CLI::App& app, std::function<int()>& chosen);
void add_test(CLI::App& app, std::function<int()>& chosen);
void add_search(CLI::App& app, std::function<int()>& chosen);
void add_keys(CLI::App& app, std::function<int()>& chosen);
void add_tokens(CLI::App& app, std::function<int()>& chosen);
void add_pages(CLI::App& app, std::function<int()>& chosen);
void add_usage(CLI::App& app, std::function<int()>& chosen);
void add_cache(CLI::App& app, std::function<int()>& chosen);
void add_backup(CLI::App& app, std::function<int()>& chosen);
void add_restore(CLI::App& app, std::function<int()>& chosen);
void add_doctor(CLI::App& app, std::function<int()>& chosen);
void add_version(CLI::App& app, std::function<int()>& chosen);
void add_completion(CLI::App& app, std::function<int()>& chosen);

// Each of them, in the order of the help text, and what that says first. `app` is the root.
void add_commands(CLI::App& app, std::function<int()>& chosen);

// Whether a command of that name was added to `app`.
bool has_command(const CLI::App& app, const std::string& name);
// After a command line that was refused: says which word the command that was meant does not take,
// and what is nearest to it. False: there is no such word, and nothing was said.
bool explain_wrong_word(const CLI::App& app);
// After a value that is not of its option's kind: says which option that is and what was expected.
// False: nothing was said. Neither repeats what may be a secret.
bool explain_wrong_value(const CLI::App& app, const CLI::ConversionError& error);
// Says that there is no command `name` and which one may have been meant. Returns the exit code.
int unknown_command(const CLI::App& app, const std::string& name);

}  // namespace sluice::app
