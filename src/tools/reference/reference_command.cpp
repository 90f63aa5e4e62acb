#include "app/command_line.hpp"
#include "app/process/version.hpp"
#include "tools/commands.hpp"
#include "tools/reference/command_reference.hpp"

#include <iostream>

#include <CLI/CLI.hpp>

namespace beckon::tools {

void add_reference_command(app::CommandLine& line) {
    auto& group =
        line.add_group("reference", "The files that a package installs beside the binary");
    group.group("");
    line.add(group, "man", "beckon(1)", [&line] {
        std::cout << man_page(line.top(), app::version_text());
        return 0;
    });
    line.add(group, "bash", "Completion for bash", [&line] {
        std::cout << bash_completion(line.top());
        return 0;
    });
}

}  // namespace beckon::tools
