// The declarations of the command line as plain data, for what is made from them: the manual page
// and the completion of shells.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::app {

struct CommandOption {
    std::vector<std::string> names;    // "-n", "--max-results"; one bare name for a positional
    std::string value;                 // what follows, such as "FILE"; empty: nothing, it is a flag
    std::vector<std::string> choices;  // values that are known; others may be right too
    std::string help;
    bool positional = false;
};

struct CommandNode {
    std::string name;
    std::string help;
    std::string footer;  // examples, in lines
    std::vector<CommandOption> options;
    std::vector<CommandNode> commands;
};

CommandNode describe(const CLI::App& app);

}  // namespace sluice::app
