#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

/// The commands that read a configuration, and the settings that have an effect on each.
namespace beckon::app {

/// Decides about defaults, and about the settings that have an effect. `running` asks a process of
/// this installation; `log` reads the log, if need be through one; `lag` asks a process or the
/// brokers.
enum class Reader {
    standalone,
    endpoint,
    edge,
    retry,
    reliability,
    console,
    lag,
    webhooks,
    topics,
    keys,
    subscriptions,
    broadcasts,
    running,
    log,
    any
};

/// The names of the readers that are roles, in their order; as the records of processes have them.
inline constexpr std::array<const char*, 6> kRoleNames{"standalone", "endpoint",    "edge",
                                                       "retry",      "reliability", "console"};
inline const char* role_name(Reader role) { return kRoleNames.at(static_cast<std::size_t>(role)); }

inline bool is_role(Reader reader) { return static_cast<std::size_t>(reader) < kRoleNames.size(); }

/// Whether the setting of that name (also "kafka.librdkafka.<name>") changes anything for `reader`.
bool has_effect(std::string_view name, Reader reader);
/// Whether it changes anything for a process or tool of an installation with the log of this role:
/// its configuration may be shared.
bool has_effect_beside(std::string_view name, Reader role);
/// The remedy, beginning with ": "; empty if there is none.
std::string why_without_effect(std::string_view name, Reader reader);

}  // namespace beckon::app
