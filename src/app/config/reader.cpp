#include "app/config/reader.hpp"

namespace beckon::app {

namespace {

constexpr unsigned bit(Reader reader) { return 1U << static_cast<unsigned>(reader); }
constexpr unsigned kRoles = bit(Reader::standalone) | bit(Reader::endpoint) | bit(Reader::edge) |
                            bit(Reader::retry) | bit(Reader::reliability) | bit(Reader::console);
constexpr unsigned kTools = bit(Reader::topics) | bit(Reader::keys) | bit(Reader::subscriptions) |
                            bit(Reader::broadcasts) | bit(Reader::log);
constexpr unsigned kOnKafka = kRoles & ~bit(Reader::standalone);
constexpr unsigned kClients = bit(Reader::webhooks);
constexpr unsigned kRunning = bit(Reader::running) | bit(Reader::log) | bit(Reader::lag);

struct Effect {
    std::string_view prefix;  ///< of the setting's name
    unsigned readers;
};
/// The readers of each setting; the longest prefix that fits decides.
constexpr auto kEffects = std::to_array<Effect>({
    {"", kRoles | kTools | kClients | kRunning},
    {"stop_timeout", kRoles},
    {"cache_bytes", kRoles},
    {"threads", bit(Reader::standalone) | bit(Reader::endpoint) | bit(Reader::edge)},
    {"certificate_names", kRoles},
    {"kafka.", kOnKafka | kTools | bit(Reader::lag)},
    {"partitions", bit(Reader::standalone) | kTools},
    {"replication_factor", kOnKafka | bit(Reader::topics)},
    {"tiers", bit(Reader::standalone) | bit(Reader::topics)},
    {"history_window", bit(Reader::standalone) | bit(Reader::topics) | bit(Reader::console)},
    {"embedded.", bit(Reader::standalone)},
    {"endpoint.", bit(Reader::standalone) | bit(Reader::endpoint)},
    {"endpoint.url", kRoles},
    {"edge.", bit(Reader::standalone) | bit(Reader::edge)},
    {"edge.client_ttl", bit(Reader::standalone) | bit(Reader::edge) | bit(Reader::subscriptions)},
    {"edge.link_", bit(Reader::edge)},
    {"edge.session_timeout", bit(Reader::edge)},
    {"edge.standby_count", bit(Reader::edge)},
    {"edge.zone", bit(Reader::edge)},
    {"retry.", bit(Reader::standalone) | bit(Reader::retry)},
    {"retry.host", bit(Reader::standalone) | bit(Reader::retry) | kClients},
    {"retry.port", bit(Reader::standalone) | bit(Reader::retry) | kClients},
    {"retry.max_runtime", bit(Reader::retry)},
    {"console.", bit(Reader::standalone) | bit(Reader::console)},
    {"console.retry_urls", bit(Reader::console)},
    {"ops.", kRoles | kRunning | bit(Reader::broadcasts)},
    {"config", kRoles | kTools | kClients | kRunning},
});

unsigned readers_of(std::string_view name) {
    const Effect* best = &kEffects[0];
    for (const auto& effect : kEffects) {
        if (name.starts_with(effect.prefix) && effect.prefix.size() >= best->prefix.size()) {
            best = &effect;
        }
    }
    return best->readers;
}

}  // namespace

bool has_effect(std::string_view name, Reader reader) {
    return reader == Reader::any || (readers_of(name) & bit(reader)) != 0;
}

bool has_effect_beside(std::string_view name, Reader role) {
    const auto with_it = role == Reader::standalone
                             ? bit(Reader::standalone) | bit(Reader::running) | kClients
                             : ~bit(Reader::standalone);
    return (readers_of(name) & with_it) != 0;
}

std::string why_without_effect(std::string_view name, Reader reader) {
    if (name.starts_with("kafka.") && reader == Reader::standalone) {
        return ": it uses the embedded log; `beckon endpoint` and `beckon edge` use Kafka";
    }
    if (name == "partitions" || name == "tiers" || name == "history_window") {
        return ": `beckon topics create` has set it for the log topics";
    }
    return "";
}

}  // namespace beckon::app
