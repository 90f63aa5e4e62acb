#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// The milestones of tracked messages: their names, and how services report and read them. The
/// allowed transitions are in `reliability/history/history.hpp`.
namespace beckon::core {

/// How far a message got. The order is that of reports and of numbers in stores, so new ones come
/// last; it is not the order in which messages reach them.
enum class Milestone : std::uint8_t {
    received,            ///< the endpoint checked the request and is about to publish it
    stored,              ///< the client's home holds it for later
    retrieved,           ///< the home read it from its store to deliver it
    int_transmitted,     ///< it reached the log on its way to a home that delivers at once
    int_accepted,        ///< that home has it
    bridge_transmitted,  ///< FCM or APNs took it
    transmitted,         ///< the home hands its frame to the client's connection
    accepted,            ///< the connection has its frame
    delivered,           ///< the client acknowledged it: code 100, none, or one that we do not know
    decryption_error,    ///< acknowledged with code 101
    not_delivered,       ///< acknowledged with code 102
    expired,             ///< its TTL ended first
    errored,             ///< it failed for good
    replaced,            ///< a newer message of its Topic took its place
    deleted,             ///< its sender deleted it
};

inline constexpr std::size_t kMilestones = kCountOf<Milestone>;
inline constexpr auto kAllMilestones = kValuesOf<Milestone>;

constexpr std::size_t index_of(Milestone milestone) { return static_cast<std::size_t>(milestone); }

/// The name in JSON, counters and logs.
inline std::string_view to_string(Milestone milestone) { return name_of(milestone); }
inline std::optional<Milestone> parse_milestone(std::string_view text) {
    return value_named<Milestone>(text);
}

/// Nothing follows it.
bool is_terminal(Milestone milestone);

/// One number for each milestone.
template <class Number>
using ByMilestone = ByEnum<Milestone, Number>;

inline constexpr std::size_t kReliabilityIdBytesMax = 128;

/// Whether a text may be a reliability id: 1 to kReliabilityIdBytesMax letters, digits and
/// `-_.:~+/=@`. (So none is a control key, which begin with '!'.)
bool is_reliability_id(std::string_view text);

/// A message that is tracked.
struct Tracked {
    std::string id;
    Timestamp expires{};  ///< when its TTL ends, by the log's time
    bool operator==(const Tracked&) const = default;
};

/// Where services report milestones. Publish and forget: no call waits, throws or fails, and the
/// sink counts milestones that it cannot keep. Thread-safe.
class MilestoneSink {
public:
    virtual ~MilestoneSink() = default;

    /// The message `id`, which lives until `expires` by the log's time, has reached `milestone`.
    /// `at` is when, by the host's wall clock; the other form takes the present.
    virtual void reached(std::string_view id, Timestamp expires, Milestone milestone,
                         Timestamp at) noexcept = 0;
    virtual void reached(std::string_view id, Timestamp expires, Milestone milestone) noexcept = 0;

    /// As the latter, for callers that go on once the milestone is safe: `done` is called once, on
    /// any thread, when the log has the milestone, or when it will not have it soon.
    using Done = std::function<void()>;
    virtual void reached_then(std::string_view id, Timestamp expires, Milestone milestone,
                              Done done) noexcept {  // NOLINT(performance-unnecessary-value-param)
        reached(id, expires, milestone);
        done();
    }
};

/// The number of messages at each milestone at present; a message at a terminal milestone counts
/// for a day.
using MilestoneCounts = ByMilestone<std::uint64_t>;

/// A source of the counts. Thread-safe.
class MilestoneCountsSource {
public:
    virtual ~MilestoneCountsSource() = default;
    /// nullopt: not known (yet).
    virtual std::optional<MilestoneCounts> counts() const = 0;
};

}  // namespace beckon::core
