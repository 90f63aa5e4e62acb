#include "edge/front/sockets.hpp"

namespace beckon::edge {

std::string_view to_string(ClosedBy cause) {
    switch (cause) {
        case ClosedBy::client: return "client";
        case ClosedBy::lost: return "lost";
        case ClosedBy::home: return "home";
        case ClosedBy::hello_timeout: return "hello_timeout";
        case ClosedBy::pong_timeout: return "pong_timeout";
        case ClosedBy::malformed: return "malformed";
        case ClosedBy::early_frames: return "early_frames";
        case ClosedBy::unavailable: return "unavailable";
        case ClosedBy::unsupported: return "unsupported";
        case ClosedBy::too_big: return "too_big";
        case ClosedBy::unfinished: return "unfinished";
        case ClosedBy::protocol: return "protocol";
        case ClosedBy::flood: return "flood";
        case ClosedBy::slow: return "slow";
        case ClosedBy::shutdown: return "shutdown";
        case ClosedBy::failed: return "failed";
    }
    return "lost";
}

}  // namespace beckon::edge
