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

constexpr std::size_t kMarkBytes = 17;

Duration since_epoch(Timestamp time) { return time.time_since_epoch(); }

Timestamp to_timestamp(Duration since) { return Timestamp{duration_cast<milliseconds>(since)}; }

std::uint64_t number(Timestamp time) {
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
}

Timestamp timestamp(std::uint64_t number) {
    return Timestamp{milliseconds{static_cast<std::int64_t>(number)}};
}

}  // namespace

std::string to_bytes(const TimeMark& mark) {
    std::string bytes(kMarkBytes, '\0');
    core::put_fixed(bytes.data(), number(mark.log));
    core::put_fixed(bytes.data() + 8, number(mark.wall));
    bytes[16] = mark.disciplined ? '\1' : '\0';
    return bytes;
}

std::optional<TimeMark> parse_time_mark(std::string_view bytes) {
    if (bytes.size() != kMarkBytes) return std::nullopt;
    return TimeMark{timestamp(core::get_fixed<std::uint64_t>(bytes.data())),
                    timestamp(core::get_fixed<std::uint64_t>(bytes.data() + 8)), bytes[16] == '\1'};
}

LogTime::LogTime(const core::Clock& clock, std::function<bool()> disciplined,
                 const std::optional<TimeMark>& left)
    : clock_(clock),
      disciplined_(std::move(disciplined)),
      mono_(clock.mono()),
      wall_offset_(since_epoch(clock.wall()) - mono_.time_since_epoch()),
      steady_since_(mono_) {
    if (!left) {
        log_ = since_epoch(clock.wall());
        return;
    }
    log_ = since_epoch(left->log);
    const Duration away = clock.wall() - left->wall;
    const bool counts = left->disciplined && disciplined_() && away > Duration::zero();
    if (counts) log_ += away;
    core::log_info("log", "time_goes_on",
                   {{"away_s", std::chrono::duration_cast<std::chrono::seconds>(away).count()},
                    {"counts", counts ? "yes" : "no"}});
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

TimeMark LogTime::mark() {
    const std::scoped_lock lock{mutex_};
    advance();
    return {to_timestamp(log_), clock_.wall(), disciplined_()};
}

}  // namespace beckon::log::embedded
