#include "edge/edge_links.hpp"

#include <cstddef>
#include <utility>

namespace beckon::edge {

EdgeLinks::EdgeLinks(const EdgeOptions& options, std::shared_ptr<const core::KeyRing> keys,
                     const core::Clock& clock, Context context)
    : context_(std::move(context)), links_(options, std::move(keys), clock, events()) {
    context_.board.connect_links(options.node, links_);
}

/// On the thread of the links.
link::Links::Events EdgeLinks::events() {
    return {.arrived =
                [this](const core::NodeId&, Messages arrivals) {
                    const auto& count = context_.metrics;
                    count.to_homes->Increment(static_cast<double>(arrivals.to_homes.size()));
                    count.to_fronts->Increment(static_cast<double>(arrivals.to_fronts.size()));
                    context_.board.arrived(std::move(arrivals));
                },
            .up =
                [this](const core::NodeId& peer) {
                    context_.board.peer_up(peer);
                    context_.control.post([this, peer] { changed(peer, true); });
                },
            .down =
                [this](const core::NodeId& peer, const core::Error&) {
                    context_.board.peer_lost(peer);
                    context_.metrics.lost->Increment();
                    context_.control.post([this, peer] { changed(peer, false); });
                },
            .dead =
                [this](const core::NodeId& peer) {
                    context_.control.post([this, peer] { context_.dead(peer); });
                },
            .refused = [this](const core::Error&) { context_.metrics.refused->Increment(); },
            .congested = [this] { return context_.board.congested(); }};
}

void EdgeLinks::introduce(const std::map<core::NodeId, cluster::NodeRecord>& nodes) {
    std::map<core::NodeId, std::string> addresses;
    for (const auto& [id, record] : nodes) {
        if (!record.link_url.empty()) addresses.emplace(id, record.link_url);
    }
    links_.set_peers(std::move(addresses));
}

void EdgeLinks::measure() const {
    std::size_t waiting = 0;
    for (const auto& link : links_.status()) waiting += link.waiting_bytes;
    context_.metrics.waiting_bytes->Set(static_cast<double>(waiting));
}

std::string EdgeLinks::refusals() const {
    std::string text;
    for (const auto& link : links_.status()) {
        if (link.up || !link.refused) continue;
        text += (text.empty() ? "no link to " : "; none to ") + link.peer.text + " (" +
                link.why_down + ")";
    }
    if (text.empty()) return text;
    return text +
           ": clients of one edge get nothing from partitions of the other. Give all edges "
           "the same keys.json, and restart those that began before the log topics were made "
           "anew";
}

void EdgeLinks::changed(const core::NodeId& peer, bool is_up) {
    if (is_up) {
        up_.insert(peer);
    } else {
        up_.erase(peer);
    }
    context_.metrics.up->Set(static_cast<double>(up_.size()));
    context_.changed();
}

}  // namespace beckon::edge
