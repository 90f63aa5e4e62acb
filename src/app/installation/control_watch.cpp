#include "app/installation/control_watch.hpp"

#include "app/installation/key_ring_guard.hpp"
#include "core/logger.hpp"

#include <utility>

namespace beckon::app {

namespace {

/// Short: a stop waits for it.
constexpr std::chrono::milliseconds kControlReadTimeout{1'000};
constexpr const char* kKeyRing = "key_ring";

}  // namespace

void KeyRingWatch::key_missing() {
    const auto now = std::chrono::steady_clock::now();
    auto missed = missed_.load();
    if (now - missed < kMissingEvery || !missed_.compare_exchange_strong(missed, now)) return;
    reread();
}

void KeyRingWatch::look(const std::optional<log::Control>& control) {
    const auto fault = asked_.exchange(false) ? read_file() : std::string{};
    if (!fault.empty()) return warn("key_ring_not_read", fault);
    if (control) compare(*control);  // else another part reports the fault
}

/// The reason why the ring stays as it was; empty if it equals the file.
std::string KeyRingWatch::read_file() {
    const auto file = config_.load_key_ring();
    if (!file) return file.error().message + "; the ring of before stays in use";
    if (file->fingerprint() == ring_.fingerprint()) return "";
    if (!part_of(*file, ring_.fingerprint())) {
        return config_.key_ring_file().string() + " has the fingerprint " + file->fingerprint() +
               " and lacks keys of the ring in use, " + ring_.fingerprint() +
               ", which stays in use: a process drops keys only at a start. If keys are to go "
               "(`beckon keys publish --force`), restart it; otherwise put the newest keys.json "
               "back";
    }
    // New keys decrypt from now on, and encrypt once the log names their ring.
    ring_.grow(*file, core::KeyRing{{ring_.sealing()}, {}, auth_key_alone()});
    core::log_info("app", "key_ring_read",
                   {{"fingerprint", ring_.fingerprint()}, {"encrypts", int{ring_.sealing().id}}});
    return "";
}

void KeyRingWatch::compare(const log::Control& control) {
    if (!control.keyring_fingerprint) return;
    const auto& named = *control.keyring_fingerprint;
    if (!part_of(ring_, named)) static_cast<void>(read_file());
    const auto in_force = part_of(ring_, named);
    if (!in_force) {
        return warn("key_ring_is_old", "the log names the key ring " + named +
                                           ", and this process has " + ring_.fingerprint() +
                                           ": put the newest keys.json at " +
                                           config_.key_ring_file().string() +
                                           ", then send SIGHUP; if that ring was published with "
                                           "--force, restart this process with it");
    }
    if (in_force->fingerprint() == ring_.fingerprint()) {
        seal_as(*in_force);
        return warn("", "");
    }
    if (publishes_ == Publishes::this_process) {
        auto published = control;
        published.keyring_fingerprint = ring_.fingerprint();
        if (!log::write_control(log_, published, control, kControlReadTimeout))
            return;  // soon again
        seal_as(ring_);
        return warn("", "");
    }
    seal_as(*in_force);
    if (in_force->newest().id == ring_.newest().id &&
        in_force->keys().size() < ring_.keys().size()) {
        return warn("key_ring_has_more", "the log names the key ring " + named +
                                             ", which is that of this process, " +
                                             ring_.fingerprint() +
                                             ", without older keys: restart this process with "
                                             "the newest keys.json, or to keep those keys run "
                                             "`beckon keys publish` with the present one");
    }
    warn("key_ring_waits", "keys of the ring " + ring_.fingerprint() +
                               " are read and do not encrypt yet: once every process has this "
                               "warning, run `beckon keys publish`");
}

/// Encrypts with the keys of `in_force`, which is this ring or a former state of it.
void KeyRingWatch::seal_as(const core::KeyRing& in_force) {
    if (in_force.newest().id == ring_.sealing().id && same_auth_key(in_force)) return;
    ring_.grow(ring_, in_force);
    core::log_info("app", "key_encrypts", {{"key", int{ring_.sealing().id}}});
}

std::vector<std::string> KeyRingWatch::auth_key_alone() const {
    const auto* key = ring_.auth_key();
    return key ? std::vector<std::string>{*key} : std::vector<std::string>{};
}

bool KeyRingWatch::same_auth_key(const core::KeyRing& other) const {
    const auto* ours = ring_.auth_key();
    const auto* theirs = other.auth_key();
    return ours && theirs ? *ours == *theirs : ours == theirs;
}

/// Empty: all is well. Logged when it changes.
void KeyRingWatch::warn(const char* what, const std::string& why) {
    if (std::exchange(warned_, why) == why) return;
    health_.set_warning(kKeyRing, why);
    if (!why.empty()) core::log_warn("app", what, {{"why", why}});
}

void LogIdWatch::look(const log::Control& control) {
    if (is_another_ || control.log_id == log_id_) return;
    const auto why = "the topic control names the log " + control.log_id +
                     ", and this process began with the log " + log_id_ +
                     ": the log topics were made anew. This process ends; start it again";
    is_another_ = true;
    health_.set_ready("log_id", false, why);
    core::log_error("app", "log_is_another", {{"why", why}});
    end_();
}

void ControlWatch::look() {
    if (!key_ring_.asked() && !due_.every(kReadEvery)) return;
    const auto control = log::read_control(log_, kControlReadTimeout);
    if (!control) due_.in(kAfterFailure);
    key_ring_.look(control ? std::optional{*control} : std::nullopt);
    if (control && log_id_) log_id_->look(*control);
}

}  // namespace beckon::app
