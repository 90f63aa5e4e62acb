#include "console/lag/status.hpp"

#include <algorithm>

namespace beckon::console {

namespace {

constexpr core::Duration kYear = std::chrono::hours{24 * 365};

bool comes_nearer(const Facts& facts) {
    return facts.position_rate > facts.append_rate && facts.position_rate > 0;
}

/// In a delay topic the position moves when its first record is due.
bool waits_on_purpose(const Facts& facts) {
    return facts.delay > core::Duration::zero() && facts.behind <= facts.delay + kBehindMax;
}

std::string seconds_text(core::Duration time) {
    return std::to_string(std::chrono::floor<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

std::string_view to_string(Status status) {
    switch (status) {
        case Status::ok: return "OK";
        case Status::restoring: return "RESTORING";
        case Status::slow: return "SLOW";
        case Status::stalled: return "STALLED";
        case Status::stopped: return "STOPPED";
    }
    return "OK";
}

Status status_of(const Facts& facts) {
    if (facts.lag <= 0 || waits_on_purpose(facts)) return Status::ok;
    if (facts.dead) return Status::stopped;
    if (facts.unmoved >= kUnmovedMax) return facts.owned ? Status::stalled : Status::stopped;
    if (facts.behind <= kBehindMax) return Status::ok;
    return comes_nearer(facts) ? Status::restoring : Status::slow;
}

std::string reason(Status status, const Facts& facts) {
    switch (status) {
        case Status::ok:
            if (facts.lag <= 0) return "nothing waits";
            return facts.delay > core::Duration::zero()
                       ? "the first record is due " + seconds_text(facts.delay) + " after it came"
                       : "the waiting records are young";
        case Status::restoring: return "far behind, and reading faster than records come";
        case Status::slow: return "far behind, and records come as fast as they are read";
        case Status::stalled:
            return "the position has not moved for " + seconds_text(facts.unmoved) +
                   ", though a member has the partition";
        case Status::stopped:
            if (facts.dead) return "no process that reads the partition is alive";
            return "the position has not moved for " + seconds_text(facts.unmoved) +
                   ", and no member has the partition";
    }
    return {};
}

std::optional<core::Duration> time_to_drain(const Facts& facts) {
    if (facts.lag <= 0) return core::Duration::zero();
    if (!comes_nearer(facts)) return std::nullopt;
    const double seconds =
        static_cast<double>(facts.lag) / (facts.position_rate - facts.append_rate);
    if (seconds > std::chrono::duration<double>{kYear}.count()) return std::nullopt;
    return std::chrono::duration_cast<core::Duration>(std::chrono::duration<double>{seconds});
}

std::optional<core::Duration> time_left(const Retention& retention, const Facts& facts) {
    if (retention.kept <= core::Duration::zero() || facts.lag <= 0) return std::nullopt;
    return std::max(core::Duration::zero(), retention.kept - facts.behind);
}

Loss loss_of(const Retention& retention, const Facts& facts) {
    if (facts.lag <= 0) return Loss::none;
    if (retention.kept > core::Duration::zero() && retention.start > retention.position) {
        return Loss::now;
    }
    const auto left = time_left(retention, facts);
    if (!left) return Loss::none;
    const auto little = std::chrono::duration<double>{retention.kept} * kRetentionLeft;
    if (std::chrono::duration<double>{*left} > little) return Loss::none;
    const auto drained = time_to_drain(facts);
    return drained && *drained < *left ? Loss::none : Loss::near;
}

}  // namespace beckon::console
