#include "log/embedded/log_time.hpp"

#include "core/bytes.hpp"
#include "core/logger.hpp"

#include <algorithm>
#include <utility>

namespace beckon::log::embedded {

using core::Duration;
using core::Timestamp;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kReadingBytes = 25;  ///< and the name of the boot
constexpr std::size_t kBootBytesMax = 64;
/// In the byte that says how far the clock could be trusted.
constexpr char kDisciplined = '\1';
constexpr char kSteady = '\2';
constexpr milliseconds kResolution{1};  ///< of time stamps

Duration since_epoch(Timestamp time) { return time.time_since_epoch(); }

Timestamp to_timestamp(Duration since) { return Timestamp{duration_cast<milliseconds>(since)}; }

template <class Time>
std::uint64_t number(Time time) {
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
}

Timestamp timestamp(std::uint64_t number) {
    return Timestamp{milliseconds{static_cast<std::int64_t>(number)}};
}

core::MonoTime mono_time(std::uint64_t number) {
    return core::MonoTime{Duration{static_cast<std::int64_t>(number)}};
}

}  // namespace

std::string to_bytes(const ClockReading& reading) {
    std::string bytes;
    bytes.reserve(kReadingBytes + reading.boot.size());
    core::append_fixed(bytes, number(reading.log));
    core::append_fixed(bytes, number(reading.wall));
    bytes.push_back(reading.disciplined ? kDisciplined : reading.steady ? kSteady : '\0');
    core::append_fixed(bytes, number(reading.mono));
    return bytes.append(reading.boot);
}

std::optional<ClockReading> parse_clock_reading(std::string_view bytes) {
    core::ByteReader in{bytes};
    ClockReading reading;
    reading.log = timestamp(in.fixed<std::uint64_t>());
    reading.wall = timestamp(in.fixed<std::uint64_t>());
    const auto trust = static_cast<char>(in.fixed<std::uint8_t>());
    reading.disciplined = trust == kDisciplined;
    reading.steady = reading.disciplined || trust == kSteady;
    reading.mono = mono_time(in.fixed<std::uint64_t>());
    reading.boot = in.take_rest();
    if (!in.good() || reading.boot.size() > kBootBytesMax) return std::nullopt;
    return reading;
}

std::string to_bytes(const std::vector<TimeGap>& gaps) {
    std::string bytes;
    for (const auto& gap : gaps) {
        core::append_fixed(bytes, number(gap.log));
        core::append_fixed(bytes, number(gap.wall));
        bytes.push_back(gap.trusted ? '\1' : '\0');
        core::append_fixed(bytes, number(gap.since));
        core::append_fixed(bytes, static_cast<std::uint8_t>(gap.boot.size()));
        bytes += gap.boot;
    }
    return bytes;
}

std::optional<std::vector<TimeGap>> parse_time_gaps(std::string_view bytes) {
    core::ByteReader in{bytes};
    std::vector<TimeGap> gaps;
    while (!in.rest().empty()) {
        TimeGap gap;
        gap.log = timestamp(in.fixed<std::uint64_t>());
        gap.wall = timestamp(in.fixed<std::uint64_t>());
        gap.trusted = in.fixed<std::uint8_t>() != 0;
        gap.since = mono_time(in.fixed<std::uint64_t>());
        gap.boot = in.take(in.fixed<std::uint8_t>());
        const bool fits = gap.boot.size() <= kBootBytesMax && gaps.size() < LogTime::kGapsMax;
        if (!in.good() || !fits) return std::nullopt;
        gaps.push_back(std::move(gap));
    }
    return gaps;
}

LogTime::LogTime(const core::Clock& clock, std::function<bool()> disciplined, std::string boot,
                 const std::optional<ClockReading>& left, std::vector<TimeGap> gaps)
    : clock_(clock),
      disciplined_(std::move(disciplined)),
      boot_(boot.size() <= kBootBytesMax ? std::move(boot) : std::string{}),
      gaps_(std::move(gaps)),
      mono_(clock.mono()),
      wall_offset_(since_epoch(clock.wall()) - mono_.time_since_epoch()),
      steady_since_(mono_) {
    log_ = since_epoch(left ? left->log : clock.wall());
    if (!left) return;
    if (in_boot_of(*left)) go_on_steady(*left);
    if (const auto away = time_away(*left)) {
        log_ += *away;
    } else {
        add_gap(*left);
        log_ += kResolution;  // no record after the gap has the time of one before it
    }
    uncounted_ = std::max(uncounted_before(*left), Duration::zero());
    for (auto& gap : gaps_) {
        if (gap.boot == boot_ && !boot_.empty() && gap.since <= mono_) continue;
        gap.since = mono_;
        gap.boot = boot_;
    }
}

bool LogTime::in_boot_of(const ClockReading& left) const {
    return !boot_.empty() && left.boot == boot_ && mono_ >= left.mono;
}

/// How far the scale is behind the host's clock without a fault of that clock. Within a boot, what
/// the time since the last reading adds is known: only reboots of unknown length count.
Duration LogTime::uncounted_before(const ClockReading& left) const {
    if (!in_boot_of(left)) return since_epoch(clock_.wall()) - log_;
    return gaps_.empty() ? Duration::zero() : Duration{left.wall - left.log};
}

/// A clock that was steady when the last process ended, and has not stepped since, still is.
void LogTime::go_on_steady(const ClockReading& left) {
    const Duration offset = since_epoch(left.wall) - left.mono.time_since_epoch();
    const Duration moved = offset > wall_offset_ ? offset - wall_offset_ : wall_offset_ - offset;
    const bool stepped = moved > kStepMax + (mono_ - left.mono) / kSteerDivisor;
    if (left.steady && !stepped) steady_since_ = mono_ - kTrustedAfter;
}

/// The time since that reading, if it is known for certain.
std::optional<Duration> LogTime::time_away(const ClockReading& left) const {
    const bool same_boot = in_boot_of(left);
    const Duration away = same_boot ? mono_ - left.mono : clock_.wall() - left.wall;
    const bool counts =
        same_boot || (left.disciplined && disciplined_() && away > Duration::zero());
    core::log_info("log", "time_goes_on",
                   {{"away_s", std::chrono::duration_cast<std::chrono::seconds>(away).count()},
                    {"counts", counts ? "yes" : "no"},
                    {"by", same_boot ? "this boot of the kernel" : "the host's clock"}});
    if (!counts) return std::nullopt;
    return away;
}

/// Nothing was written since the last start if there is one already that begins there.
void LogTime::add_gap(const ClockReading& left) {
    if (!gaps_.empty() && gaps_.back().log >= left.log) return;
    if (gaps_.size() == kGapsMax) gaps_.erase(gaps_.begin());
    gaps_.push_back({.log = left.log,
                     .wall = left.wall,
                     .trusted = left.disciplined || left.steady,
                     .since = mono_,
                     .boot = boot_});
}

bool LogTime::may_steer() const { return disciplined_() || mono_ - steady_since_ >= kSteadyFor; }

bool LogTime::is_trusted() const {
    return disciplined_() || mono_ - steady_since_ >= kTrustedAfter;
}

void LogTime::advance() {
    const auto mono = clock_.mono();
    const Duration wall = since_epoch(clock_.wall());
    const Duration passed = std::max(mono - mono_, Duration::zero());
    mono_ = std::max(mono, mono_);
    log_ += passed;

    const Duration offset = wall - mono.time_since_epoch();
    const Duration moved = offset > wall_offset_ ? offset - wall_offset_ : wall_offset_ - offset;
    if (moved > kStepMax + passed / kSteerDivisor) steady_since_ = mono_;
    wall_offset_ = offset;

    if (!may_steer()) return;
    const Duration most = passed / kSteerDivisor;
    log_ += std::clamp(wall - log_, -most, most);
}

Timestamp LogTime::now() {
    const std::scoped_lock lock{mutex_};
    advance();
    return to_timestamp(log_);
}

ClockReading LogTime::read_clocks() {
    const std::scoped_lock lock{mutex_};
    advance();
    return {.log = to_timestamp(log_),
            .wall = clock_.wall(),
            .disciplined = disciplined_(),
            .mono = mono_,
            .boot = boot_,
            .steady = is_trusted()};
}

core::MissingTime LogTime::missing() {
    core::MissingTime missing;
    if (gaps_.empty()) return missing;
    const std::scoped_lock lock{mutex_};
    advance();
    for (const auto& gap : gaps_) {
        missing.parts.push_back({.until = gap.log, .most = missing_since(gap, is_trusted())});
    }
    return missing;
}

Duration LogTime::clock_ahead() {
    const std::scoped_lock lock{mutex_};
    advance();
    if (disciplined_()) return Duration::zero();
    const Duration ahead = since_epoch(clock_.wall()) - log_;
    return ahead > Duration::zero() ? std::max(ahead - uncounted_, Duration::zero()) : ahead;
}

/// By how much more the host's clock has advanced since `gap` than the log's time has.
Duration LogTime::missing_since(const TimeGap& gap, bool clock_is_trusted) const {
    const bool may_doubt = mono_ - gap.since < kDoubtMax;
    const Duration beyond = (clock_.wall() - gap.wall) - (log_ - since_epoch(gap.log));
    const bool says_nothing = beyond < -kStepMax;
    if (says_nothing) return may_doubt ? core::MissingTime::kForever : Duration::zero();
    if (!may_doubt && !(gap.trusted && clock_is_trusted)) return Duration::zero();
    return std::clamp(beyond, Duration::zero(), core::MissingTime::kForever);
}

}  // namespace beckon::log::embedded
