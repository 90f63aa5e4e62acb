#pragma once

#include "app/config/config.hpp"
#include "core/key_ring.hpp"
#include "log/control.hpp"
#include "log/event_log.hpp"

#include <memory>
#include <optional>
#include <string>

/// Decides whether a key ring may be used with a log. An endpoint URL can be read only with the
/// ring that made it: with another ring, or with a log that has forgotten the subscriptions, every
/// sender would receive 410 and forget its subscription for ever. So an operator's slip (a volume
/// that is not mounted, a lost or mistaken keys.json) ends the start instead. All throw
/// StartupError.
namespace beckon::app {

/// How a ring relates to the fingerprint that the log holds.
enum class RingMatch {
    same,
    grown,  ///< it has all keys of that fingerprint's ring, and more
    other,  ///< endpoint URLs of that fingerprint's ring may be unreadable with this one
};
RingMatch match(const core::KeyRing& ring, const std::string& fingerprint);
/// The part of `ring` with that fingerprint: the ring itself, or the one from which a rotation or
/// an import made it, also if up to two older keys, or all below some key, had been taken out of
/// that and are back; nullopt if the fingerprint is another ring's.
std::optional<core::KeyRing> part_of(const core::KeyRing& ring, const std::string& fingerprint);

/// Whether the data directory holds an embedded log. Throws SetupError: this user may not see that.
bool has_embedded_log(const Config& config);

/// The ring of a role on Kafka, or of a tool: it must exist.
std::shared_ptr<core::KeyRing> load_key_ring(const Config& config);

/// Standalone's ring, before its log is opened; null: there is none. If the log is missing beside a
/// ring, this throws, unless the operator has declared the log new (--new-log).
std::shared_ptr<core::KeyRing> find_key_ring(const Config& config, bool new_log);

/// Makes the ring of a first start, after its log was made: a start that ends between the two can
/// simply be repeated, whereas a ring without its log looks like a missing volume. `log_has_ring`:
/// a ring belongs to the log, which is missing; this throws.
std::shared_ptr<core::KeyRing> make_key_ring(const Config& config, bool log_has_ring);

/// A ring may be used with a younger log only with the operator's consent. `log_created` is
/// Control::created.
bool is_older_than_log(const core::KeyRing& ring, const std::string& log_created);

/// Holds `ring` to the log of a role on Kafka. The first role publishes the fingerprint if the log
/// has none; `control` then has it. Keys that are not published yet do not encrypt.
void hold_to_cluster_log(log::EventLog& log, log::Control& control, core::KeyRing& ring,
                         const Config& config);

/// Holds `ring` to standalone's log. Keys that were added while it was stopped (or by `keys rotate`
/// beside it) are published.
void hold_to_embedded_log(log::EventLog& log, log::Control& control, const core::KeyRing& ring,
                          const Config& config);

}  // namespace beckon::app
