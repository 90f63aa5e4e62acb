#pragma once

#include "net/peer_address.hpp"
#include "records/process.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace beckon::ingest {

/// The last refused POSTs to endpoint URLs, by which an operator finds why a push did not arrive:
/// the report of the process has them (records/process.hpp). Each sender's address belongs to one
/// of kGroups groups, which keep kOfGroup endpoints each: a sender that causes many refusals
/// displaces those of its own group. Thread-safe.
class RefusedSends {
public:
    static constexpr std::size_t kGroups = 32;
    static constexpr std::size_t kOfGroup = 4;
    static_assert(kGroups * kOfGroup <= cluster::ProcessRecord::kRefusedMax);
    static constexpr std::chrono::hours kKept{1};

    void add(const net::PeerAddress& sender, cluster::RefusedSend refused) {
        const auto hash = std::hash<std::string>{}(to_string(sender.limit_key()));
        const std::scoped_lock lock{mutex_};
        auto& group = groups_[hash % kGroups];
        const auto same = std::find_if(group.begin(), group.end(), [&](const auto& one) {
            return one.endpoint == refused.endpoint && one.message == refused.message;
        });
        if (same != group.end()) {
            refused.count += same->count;
            group.erase(same);
        }
        if (group.size() == kOfGroup) group.pop_front();
        group.push_back(std::move(refused));
    }

    std::vector<cluster::RefusedSend> since(core::Timestamp now) const {
        const std::scoped_lock lock{mutex_};
        std::vector<cluster::RefusedSend> out;
        for (const auto& group : groups_) {
            std::copy_if(group.begin(), group.end(), std::back_inserter(out),
                         [now](const auto& one) { return now - one.at <= kKept; });
        }
        return out;
    }

private:
    mutable std::mutex mutex_;
    std::array<std::deque<cluster::RefusedSend>, kGroups> groups_;  ///< the newest last
};

}  // namespace beckon::ingest
