#pragma once

#include "core/enum_names.hpp"
#include "core/milestone.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::reliability {

using core::Milestone;

enum class Maker : std::uint8_t { endpoint, edge };

struct Edge {
    Milestone from;
    Milestone to;
    Maker maker;
};

/// The edges of the diagram. Besides, every milestone that is not terminal leads to `expired` when
/// the message's TTL ends, to `replaced` when a newer message of its Topic is put, and to `deleted`
/// when its sender deletes it.
inline constexpr std::array<Edge, 18> kEdges = {{
    {Milestone::received, Milestone::int_transmitted, Maker::endpoint},
    {Milestone::received, Milestone::bridge_transmitted, Maker::endpoint},
    {Milestone::received, Milestone::expired, Maker::endpoint},
    {Milestone::received, Milestone::stored, Maker::endpoint},
    {Milestone::received, Milestone::errored, Maker::endpoint},
    {Milestone::int_transmitted, Milestone::int_accepted, Maker::edge},
    {Milestone::int_transmitted, Milestone::received, Maker::endpoint},  // the transmission failed
    {Milestone::stored, Milestone::retrieved, Maker::edge},
    {Milestone::int_accepted, Milestone::transmitted, Maker::edge},
    {Milestone::transmitted, Milestone::errored, Maker::edge},
    {Milestone::transmitted, Milestone::accepted, Maker::edge},
    {Milestone::accepted, Milestone::delivered, Maker::edge},
    {Milestone::accepted, Milestone::decryption_error, Maker::edge},
    {Milestone::accepted, Milestone::not_delivered, Maker::edge},
    {Milestone::retrieved, Milestone::delivered, Maker::edge},
    {Milestone::retrieved, Milestone::decryption_error, Maker::edge},
    {Milestone::retrieved, Milestone::not_delivered, Maker::edge},
    {Milestone::retrieved, Milestone::expired, Maker::edge},
}};

/// How far along a milestone is. Every edge goes to a higher rank, but the one back to `received`.
/// Among milestones that can belong to one message no two have the same rank.
int rank(Milestone milestone);

/// Whether a message that has reached `from` can come to `to` over one edge or several. (Some of
/// the milestones between may have been lost, or are late.)
bool leads_to(Milestone from, Milestone to);

/// Whether one message can have both.
bool go_together(Milestone one, Milestone other);

/// The diagram in Mermaid's notation, as docs/reliability.md shows it.
std::string diagram_text();

using core::Timestamp;

/// One milestone of a message, and when it was reached by its reporter's wall clock.
struct Reached {
    Milestone milestone = Milestone::received;
    Timestamp at{};
    bool operator==(const Reached&) const = default;
};

/// The effect of one milestone on the history of its message.
enum class Effect : std::uint8_t {
    advanced,  ///< the message is further now
    filled,    ///< it came late: the history is more complete, the message where it was
    repeated,  ///< known already
    refused,   ///< the diagram does not allow it beside the known milestones: not applied
};
inline std::string_view to_string(Effect effect) { return core::name_of(effect); }

/// The life of one tracked message. Only add() builds it. Milestones that the diagram allows give
/// the same history in any order and with any repetition; of milestones that contradict each other
/// the first in the log counts.
class History {
public:
    /// A message that lives until `expires`, known since a record appended at `appended`.
    History(Timestamp expires, Timestamp appended) : expires_(expires), changed_(appended) {}

    /// Adds a milestone of a record appended at `appended`, which has the message's expiry.
    Effect add(const Reached& reached, Timestamp expires, Timestamp appended);

    bool has(Milestone milestone) const { return (seen_ >> core::index_of(milestone) & 1U) != 0; }
    /// When it was reached; of several reports the earliest. Only if has().
    Timestamp at(Milestone milestone) const { return at_[milestone]; }
    /// The furthest; nullopt if everything was refused.
    std::optional<Milestone> current() const;
    /// When the record with the terminal milestone was appended; nullopt: the message is alive.
    std::optional<Timestamp> ended() const;
    /// By the log's time; of several reports the latest.
    Timestamp expires() const { return expires_; }
    /// Append time of the newest record that changed this.
    Timestamp changed() const { return changed_; }

    /// In the order of the diagram.
    std::vector<Reached> steps() const;

    /// How long a history is kept after the last record that changed it, once it has ended.
    static constexpr std::chrono::days kKept{60};

    /// The bytes of a row, and back; nullopt for bytes that no append_to() wrote. Like the rows of
    /// all our stores, it begins with its form and the time when it may be dropped (0: not yet).
    void append_to(std::string& out) const;
    static std::optional<History> parse(std::string_view bytes);

    bool operator==(const History&) const = default;

private:
    bool fits(Milestone milestone) const;

    std::uint16_t seen_ = 0;  ///< a bit for each milestone
    core::ByMilestone<Timestamp> at_{};
    Timestamp expires_{};
    Timestamp changed_{};
    Timestamp ended_{};
};

}  // namespace beckon::reliability
