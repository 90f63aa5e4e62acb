#include "app/process/version.hpp"

namespace beckon::app {

std::string version_text() { return BECKON_VERSION " (" BECKON_COMMIT ")"; }

std::string commit_text() { return BECKON_COMMIT; }

}  // namespace beckon::app
