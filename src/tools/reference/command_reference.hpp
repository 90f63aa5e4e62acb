#pragma once

#include <string>

namespace CLI {
class App;
}

/// The files that a package installs beside the binary, made from the commands themselves. Pure
/// functions.
namespace beckon::tools {

/// beckon(1), in troff.
std::string man_page(const CLI::App& top, const std::string& version);
/// A script for bash: commands, their options, and the values of those with a list of them.
std::string bash_completion(const CLI::App& top);

}  // namespace beckon::tools
