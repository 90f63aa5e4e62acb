#include "app/installation/key_ring_guard.hpp"

#include "app/process/process.hpp"
#include "core/logger.hpp"
#include "core/setup_error.hpp"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <functional>
#include <vector>

namespace beckon::app {

namespace {

constexpr std::chrono::seconds kRingControlTimeout{10};
/// A cluster's ring is made a moment before its topics: that is one installation.
constexpr std::chrono::seconds kMadeTogether{std::chrono::hours{1}};

using Keys = std::vector<core::KeyRing::Key>;
using Texts = std::vector<std::string>;

std::optional<std::time_t> parse_time(const std::string& text) {
    std::tm utc{};
    const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
    if (!end) return std::nullopt;
    return ::timegm(&utc);
}

/// Visits the earlier forms of a key ring that count as the same, the most probable ones first:
/// without its newest keys, which a rotation added, and without up to two older ones, or all below
/// some key, which somebody removed and added again. `visit` ends the search by returning true.
void each_earlier(const Keys& keys, const std::function<bool(const Keys&)>& visit) {
    const auto without = [](Keys from, std::size_t at) {
        from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
        return from;
    };
    std::vector<Keys> prefixes;
    for (auto size = keys.size(); size > 0; --size) {
        prefixes.emplace_back(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(size));
    }
    if (std::ranges::any_of(prefixes, visit)) return;
    for (const auto& prefix : prefixes) {
        const auto older = prefix.size() - 1;
        for (std::size_t one = 0; one < older; ++one) {
            if (visit(without(prefix, one))) return;
            if (visit(Keys(prefix.begin() + static_cast<std::ptrdiff_t>(one) + 1, prefix.end()))) {
                return;
            }
            for (auto two = one + 1; two < older; ++two) {
                if (visit(without(without(prefix, two), one))) return;
            }
        }
    }
}

/// Without imported keys at the front of a list.
Texts behind(const Texts& all, std::size_t first) {
    return {all.begin() + static_cast<std::ptrdiff_t>(first), all.end()};
}

/// A log directory holds RocksDB's own pointer file from its first moment on.
constexpr const char* kLogFile = "CURRENT";

[[noreturn]] void refuse_lost_ring(const Config& config) {
    throw core::SetupError(
        "there is no key ring at " + config.key_ring_file().string() + ", but " +
        (config.data / "log").string() +
        " holds the log of an installation whose endpoint URLs only its own ring can read. Put "
        "keys.json back from a backup, or name it with --key-ring. If it is lost for good: `beckon "
        "keys generate --force`, then `beckon keys publish --force`; every endpoint URL that was "
        "handed out is dead from then on (docs/operations/keys.md, \"Lost keys\")");
}

[[noreturn]] void refuse_new_log(const Config& config) {
    throw core::SetupError(
        "there is a key ring at " + config.key_ring_file().string() + ", but no log in " +
        (config.data / "log").string() +
        ": on an empty log every sender would get 410, as if its subscription were gone. Is the "
        "right volume mounted, and is --data unchanged? For a new installation, pass --new-log "
        "once");
}

/// " (its keys are 0 and 2: 1 is missing)", as far as the ids show it; otherwise "".
std::string missing_ids(const core::KeyRing& ring) {
    std::string missing;
    for (std::uint8_t id = 0; id < ring.newest().id; ++id) {
        if (!ring.find(id)) missing += (missing.empty() ? "" : ", ") + std::to_string(int{id});
    }
    return missing.empty() ? "" : " (of the ids up to its newest key it has not: " + missing + ")";
}

[[noreturn]] void refuse_other_ring(const log::Control& control, const core::KeyRing& ring,
                                    const Config& config) {
    throw core::SetupError(
        "the key ring " + config.key_ring_file().string() + " has the fingerprint " +
        ring.fingerprint() + ", but this log names " + *control.keyring_fingerprint +
        ", of which it lacks keys" + missing_ids(ring) +
        ": it is a copy of before a rotation, one with a key taken out, or another installation's. "
        "Put the installation's newest keys.json there (docs/operations/keys.md, \"Keys\"). If "
        "keys are "
        "to go, `beckon keys publish --force`: every endpoint URL that they made is dead then");
}

}  // namespace

std::optional<core::KeyRing> part_of(const core::KeyRing& ring, const std::string& fingerprint) {
    if (ring.fingerprint() == fingerprint) return ring;
    std::optional<core::KeyRing> found;
    each_earlier(ring.keys(), [&](const Keys& keys) {
        for (std::size_t crypto = 0; crypto <= ring.crypto_keys().size(); ++crypto) {
            for (std::size_t auth = 0; auth <= ring.auth_keys().size(); ++auth) {
                const core::KeyRing part{keys, behind(ring.crypto_keys(), crypto),
                                         behind(ring.auth_keys(), auth)};
                if (part.fingerprint() != fingerprint) continue;
                found.emplace(part);
                return true;
            }
        }
        return false;
    });
    return found;
}

RingMatch match(const core::KeyRing& ring, const std::string& fingerprint) {
    if (ring.fingerprint() == fingerprint) return RingMatch::same;
    return part_of(ring, fingerprint) ? RingMatch::grown : RingMatch::other;
}

bool has_embedded_log(const Config& config) {
    if (const auto foreign = foreign_file(config.data)) {
        throw core::SetupError(foreign->run_as_owner());
    }
    return std::filesystem::exists(config.data / "log" / kLogFile);
}

namespace {

/// There is nothing of Beckon in the data directory of a command without Kafka: neither a log nor a
/// key ring.
void hold_to_data(const Config& config) {
    if (config.on_kafka() || has_embedded_log(config)) return;
    std::error_code error;
    if (std::filesystem::exists(config.key_ring_file(), error) || error) return;
    throw core::SetupError("there is no data of Beckon in " +
                           std::filesystem::absolute(config.data).string() +
                           ": name its data directory with --data, or with --kafka-servers the "
                           "brokers");
}

}  // namespace

std::shared_ptr<core::KeyRing> load_key_ring(const Config& config) {
    hold_to_data(config);
    const auto file = config.key_ring_file();
    auto ring = config.load_key_ring();
    if (ring) return std::make_shared<core::KeyRing>(std::move(*ring));
    if (ring.error().fault != core::Fault::not_found) {
        throw core::SetupError(ring.error().message);
    }
    if (!config.on_kafka() && has_embedded_log(config)) {
        refuse_lost_ring(config);
    }
    throw core::SetupError("there is no key ring at " + file.string() +
                           ": make one with `beckon keys generate --key-ring " + file.string() +
                           "` and give all roles the same file");
}

std::shared_ptr<core::KeyRing> find_key_ring(const Config& config, bool new_log) {
    auto ring = config.load_key_ring();
    if (ring) {
        if (!has_embedded_log(config) && !new_log) refuse_new_log(config);
        return std::make_shared<core::KeyRing>(std::move(*ring));
    }
    if (ring.error().fault != core::Fault::not_found) {
        throw core::SetupError(ring.error().message);
    }
    return nullptr;
}

std::shared_ptr<core::KeyRing> make_key_ring(const Config& config, bool log_has_ring) {
    if (log_has_ring) refuse_lost_ring(config);
    const auto file = config.key_ring_file();
    auto fresh = core::KeyRing::generate();
    must(fresh.save(file));
    core::log_info("app", "key_ring_made", {{"file", file.string()}});
    return std::make_shared<core::KeyRing>(std::move(fresh));
}

namespace {

/// Writes the ring's fingerprint to `control`.
void publish(log::EventLog& log, log::Control& control, const core::KeyRing& ring) {
    auto published = control;
    published.keyring_fingerprint = ring.fingerprint();
    must(log::write_control(log, published, control, kRingControlTimeout),
         "cannot write control: ");
    control = std::move(published);
    core::log_info("app", "key_ring_published", {{"fingerprint", ring.fingerprint()}});
}

}  // namespace

bool is_older_than_log(const core::KeyRing& ring, const std::string& log_created) {
    const auto made = parse_time(ring.keys().front().created);
    const auto log_made = parse_time(log_created);
    return made && log_made && *made + kMadeTogether.count() < *log_made;
}

void hold_to_cluster_log(log::EventLog& log, log::Control& control, core::KeyRing& ring,
                         const Config& config) {
    if (!control.keyring_fingerprint) {
        if (is_older_than_log(ring, control.created)) {
            throw core::SetupError(
                "the log topics were made on " + control.created + ", later than the key ring " +
                config.key_ring_file().string() +
                ", and no ring was published to them: on a new log every sender would get 410, as "
                "if its subscription were gone. Is this the right cluster and --kafka-prefix? If "
                "this ring belongs to it, run `beckon keys publish` once");
        }
        publish(log, control, ring);
        // Another role may have published its own meanwhile: the last one in the log counts.
        control = must(log::read_control(log, kRingControlTimeout), "cannot read control: ");
    }
    const auto in_force = part_of(ring, *control.keyring_fingerprint);
    if (!in_force) refuse_other_ring(control, ring, config);
    ring.grow(ring, *in_force);
}

void hold_to_embedded_log(log::EventLog& log, log::Control& control, const core::KeyRing& ring,
                          const Config& config) {
    const auto how =
        control.keyring_fingerprint ? match(ring, *control.keyring_fingerprint) : RingMatch::grown;
    if (how == RingMatch::other) refuse_other_ring(control, ring, config);
    if (how == RingMatch::same) return;
    publish(log, control, ring);
}

}  // namespace beckon::app
