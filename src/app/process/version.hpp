#pragma once

#include <string>

namespace beckon::app {

/// "1.0.0 (commit)".
std::string version_text();
/// The commit of the build alone; "unknown" where it was built outside of a checkout.
std::string commit_text();

}  // namespace beckon::app
