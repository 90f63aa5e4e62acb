#include "records/events.hpp"

namespace beckon::core {

namespace {

/// The value whose name is `text`; `values` are all of its enum.
template <class Enum, std::size_t N>
std::optional<Enum> by_name(std::string_view text, const Enum (&values)[N]) {
    for (const Enum value : values) {
        if (to_string(value) == text) return value;
    }
    return std::nullopt;
}

}  // namespace

std::string_view to_string(Urgency urgency) {
    switch (urgency) {
        case Urgency::very_low: return "very-low";
        case Urgency::low: return "low";
        case Urgency::normal: return "normal";
        case Urgency::high: return "high";
    }
    return "unknown";
}

std::optional<Urgency> parse_urgency(std::string_view text) {
    return by_name(text, {Urgency::very_low, Urgency::low, Urgency::normal, Urgency::high});
}

std::string_view to_string(FinishReason reason) {
    switch (reason) {
        case FinishReason::acked: return "acked";
        case FinishReason::expired: return "expired";
        case FinishReason::replaced: return "replaced";
        case FinishReason::dropped: return "dropped";
        case FinishReason::deleted: return "deleted";
        case FinishReason::unregistered: return "unregistered";
    }
    return "unknown";
}

std::optional<FinishReason> parse_finish_reason(std::string_view text) {
    return by_name(text,
                   {FinishReason::acked, FinishReason::expired, FinishReason::replaced,
                    FinishReason::dropped, FinishReason::deleted, FinishReason::unregistered});
}

std::string_view to_string(RouterType type) {
    switch (type) {
        case RouterType::webpush: return "webpush";
        case RouterType::fcm: return "fcm";
        case RouterType::apns: return "apns";
        case RouterType::webhook: return "webhook";
    }
    return "unknown";
}

std::optional<RouterType> parse_router_type(std::string_view text) {
    return by_name(text,
                   {RouterType::webpush, RouterType::fcm, RouterType::apns, RouterType::webhook});
}

}  // namespace beckon::core
