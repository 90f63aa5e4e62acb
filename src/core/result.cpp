#include "core/result.hpp"

namespace beckon::core {

std::string_view to_string(Fault fault) {
    switch (fault) {
        case Fault::invalid: return "invalid";
        case Fault::not_found: return "not_found";
        case Fault::unauthorized: return "unauthorized";
        case Fault::too_large: return "too_large";
        case Fault::conflict: return "conflict";
        case Fault::out_of_range: return "out_of_range";
        case Fault::full: return "full";
        case Fault::timed_out: return "timed_out";
        case Fault::unavailable: return "unavailable";
        case Fault::corrupt: return "corrupt";
    }
    return "unknown";
}

}  // namespace beckon::core
