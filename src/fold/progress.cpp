#include "fold/progress.hpp"

namespace beckon::fold {

std::string_view to_string(Phase phase) {
    switch (phase) {
        case Phase::opening: return "opening";
        case Phase::restoring: return "restoring";
        case Phase::following: return "following";
    }
    return "";
}

}  // namespace beckon::fold
