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
constexpr std::size_t kGapBytes = 26;   ///< and the name of its boot
constexpr milliseconds kResolution{1};  ///< of time stamps

Duration since_epoch(Timestamp time) { return time.time_since_epoch(); }

Timestamp to_timestamp(Duration since) { return Timestamp{duration_cast<milliseconds>(since)}; }

std::uint64_t number(Timestamp time) {
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
}

Timestamp timestamp(std::uint64_t number) {
    return Timestamp{milliseconds{static_cast<std::int64_t>(number)}};
}

}  // namespace

std::string to_bytes(const ClockReading& reading) {
    std::string bytes(kReadingBytes, '\0');
    core::put_fixed(bytes.data(), number(reading.log));
    core::put_fixed(bytes.data() + 8, number(reading.wall));
    if (reading.steady) bytes[16] = kSteady;
    if (reading.disciplined) bytes[16] = kDisciplined;
    core::put_fixed(bytes.data() + 17,
                    static_cast<std::uint64_t>(reading.mono.time_since_epoch().count()));
    return bytes + reading.boot;
}

std::optional<ClockReading> parse_clock_reading(std::string_view bytes) {
    if (bytes.size() < kReadingBytes || bytes.size() > kReadingBytes + kBootBytesMax) {
        return std::nullopt;
    }
    const auto at = [&](std::size_t i) { return core::get_fixed<std::uint64_t>(bytes.data() + i); };
    ClockReading reading{.log = timestamp(at(0)),
                         .wall = timestamp(at(8)),
                         .disciplined = bytes[16] == kDisciplined};
    reading.steady = reading.disciplined || bytes[16] == kSteady;
    reading.mono = core::MonoTime{Duration{static_cast<std::int64_t>(at(17))}};
    reading.boot = bytes.substr(kReadingBytes);
    return reading;
}

std::string to_bytes(const std::vector<TimeGap>& gaps) {
    std::string bytes;
    for (const auto& gap : gaps) {
        std::string one(kGapBytes, '\0');
        core::put_fixed(one.data(), number(gap.log));
        core::put_fixed(one.data() + 8, number(gap.wall));
        one[16] = gap.trusted ? '\1' : '\0';
        core::put_fixed(one.data() + 17,
                        static_cast<std::uint64_t>(gap.since.time_since_epoch().count()));
        one[25] = static_cast<char>(gap.boot.size());
        bytes += one + gap.boot;
    }
    return bytes;
}

std::optional<std::vector<TimeGap>> parse_time_gaps(std::string_view bytes) {
    std::vector<TimeGap> gaps;
    while (!bytes.empty()) {
        if (bytes.size() < kGapBytes || gaps.size() == LogTime::kGapsMax) return std::nullopt;
        const auto at = [&](std::size_t i) {
            return core::get_fixed<std::uint64_t>(bytes.data() + i);
        };
        const auto boot_bytes = static_cast<unsigned char>(bytes[25]);
        TimeGap gap{.log = timestamp(at(0)), .wall = timestamp(at(8)), .trusted = bytes[16] != 0};
        gap.since = core::MonoTime{Duration{static_cast<std::int64_t>(at(17))}};
        bytes.remove_prefix(kGapBytes);
        if (boot_bytes > kBootBytesMax || boot_bytes > bytes.size()) return std::nullopt;
        gap.boot = bytes.substr(0, boot_bytes);
        bytes.remove_prefix(boot_bytes);
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
