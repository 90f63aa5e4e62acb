#pragma once

#include "core/milestone.hpp"

#include <array>
#include <string>

/// The one table of allowed transitions between milestones; the fold, the documents and the tests
/// share it. Pure.
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

}  // namespace beckon::reliability
