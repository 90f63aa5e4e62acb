#include "log/embedded/log_time.hpp"

#include "core/bytes.hpp"
#include "core/logger.hpp"
#include "log/embedded/record_format.hpp"

#include <algorithm>
#include <utility>

namespace beckon::log::embedded {

using core::Duration;
using core::Timestamp;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kOldReadingBytes = 17;
constexpr std::size_t kReadingBytes = kOldReadingBytes + 8;
constexpr std::size_t kBootBytesMax = 64;

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
    bytes[16] = reading.disciplined ? '\1' : '\0';
    core::put_fixed(bytes.data() + kOldReadingBytes,
                    static_cast<std::uint64_t>(reading.mono.time_since_epoch().count()));
    return bytes + reading.boot;
}

std::optional<ClockReading> parse_clock_reading(std::string_view bytes) {
    const bool old = bytes.size() == kOldReadingBytes;
    if (!old && (bytes.size() < kReadingBytes || bytes.size() > kReadingBytes + kBootBytesMax)) {
        return std::nullopt;
    }
    const auto at = [&](std::size_t i) { return core::get_fixed<std::uint64_t>(bytes.data() + i); };
    ClockReading reading{
        .log = timestamp(at(0)), .wall = timestamp(at(8)), .disciplined = bytes[16] == '\1'};
    if (old) return reading;
    reading.mono = core::MonoTime{Duration{static_cast<std::int64_t>(at(kOldReadingBytes))}};
    reading.boot = bytes.substr(kReadingBytes);
    return reading;
}

LogTime::LogTime(const core::Clock& clock, std::function<bool()> disciplined, std::string boot,
                 const std::optional<ClockReading>& left)
    : clock_(clock),
      disciplined_(std::move(disciplined)),
      boot_(boot.size() <= kBootBytesMax ? std::move(boot) : std::string{}),
      mono_(clock.mono()),
      wall_offset_(since_epoch(clock.wall()) - mono_.time_since_epoch()),
      steady_since_(mono_) {
    log_ = left ? since_epoch(left->log) + time_away(*left) : since_epoch(clock.wall());
}

/// How much of the time since that reading counts.
Duration LogTime::time_away(const ClockReading& left) const {
    const bool same_boot = !boot_.empty() && left.boot == boot_ && mono_ >= left.mono;
    const Duration away = same_boot ? mono_ - left.mono : clock_.wall() - left.wall;
    const bool counts =
        same_boot || (left.disciplined && disciplined_() && away > Duration::zero());
    core::log_info("log", "time_goes_on",
                   {{"away_s", std::chrono::duration_cast<std::chrono::seconds>(away).count()},
                    {"counts", counts ? "yes" : "no"},
                    {"by", same_boot ? "this boot of the kernel" : "the host's clock"}});
    return counts ? away : Duration::zero();
}

bool LogTime::may_steer() const { return disciplined_() || mono_ - steady_since_ >= kSteadyFor; }

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
            .boot = boot_};
}

}  // namespace beckon::log::embedded
