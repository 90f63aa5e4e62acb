#pragma once

#include "core/largest_holder.hpp"
#include "core/partition.hpp"
#include "records/delivery.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace beckon::retry {

/// Events that stand in the log and that deliveries name, so that an attempt finds what the fan-out
/// has matched a moment ago, and an event that was read for one attempt is there for the next ones.
/// All homes of a process share it. When it is full, the owner whose events take most of it loses
/// its oldest one. Any thread.
class EventCache {
public:
    static constexpr std::size_t kBytesMax = std::size_t{32} << 20;
    /// Of an event, beside its JSON.
    static constexpr std::size_t kEntryBytes = 512;

    explicit EventCache(std::size_t bytes_max = kBytesMax) : bytes_max_(bytes_max) {}

    /// `owner`: the one that the event is for; empty: all owners together.
    void put(const EventPlace& place, const std::string& owner, EventText text) {
        const std::scoped_lock lock{mutex_};
        const Place at{place.partition, place.offset};
        const auto size = text->size() + kEntryBytes;
        if (!entries_.emplace(at, Entry{place.name, std::move(text)}).second) return;
        holders_.add(owner, size);
        oldest_[owner].push_back(at);
        while (holders_.total() > bytes_max_) drop_oldest_of(std::string{holders_.largest()});
    }
    /// null: it is not here.
    EventText find(const EventPlace& place) const {
        const std::scoped_lock lock{mutex_};
        const auto found = entries_.find({place.partition, place.offset});
        if (found == entries_.end() || found->second.name != place.name) return nullptr;
        return found->second.text;
    }

private:
    using Place = std::pair<core::Partition, core::Offset>;
    struct Entry {
        std::string name;
        EventText text;
    };
    void drop_oldest_of(const std::string& owner) {
        const auto line = oldest_.find(owner);
        const auto entry = entries_.extract(line->second.front());
        holders_.remove(owner, entry.mapped().text->size() + kEntryBytes);
        line->second.pop_front();
        if (line->second.empty()) oldest_.erase(line);
    }

    const std::size_t bytes_max_;
    mutable std::mutex mutex_;
    std::map<Place, Entry> entries_;
    std::map<std::string, std::deque<Place>> oldest_;  ///< by owner, in the order of put()
    core::LargestHolder<std::string> holders_;         ///< of bytes
};

}  // namespace beckon::retry
