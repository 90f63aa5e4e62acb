#include "log/embedded/group_offsets.hpp"

#include "log/embedded/meta_keys.hpp"

#include <stdexcept>
#include <utility>

namespace beckon::log::embedded {

namespace {

std::string offset_key(const std::string& group, TopicPartition where) {
    return meta::kGroup + group + '\0' + partition_key(where);
}

}  // namespace

GroupOffsets::GroupOffsets(const Storage& storage, Writer& writer) : writer_(writer) {
    load(storage);
}

void GroupOffsets::load(const Storage& storage) {
    const std::string all(1, meta::kGroup);
    const auto read = storage.scan(
        Family::meta, all, meta::after(all), [this](std::string_view key, std::string_view value) {
            if (key.size() < kPartitionKeyBytes + 2) return true;
            const auto group_end = key.size() - kPartitionKeyBytes - 1;
            const auto where = parse_partition_key(key.substr(group_end + 1));
            if (where && value.size() == 8) {
                groups_[std::string{key.substr(1, group_end - 1)}][*where] = meta::to_offset(value);
            }
            return true;
        });
    if (!read) throw std::runtime_error("cannot read the group offsets: " + read.error().message);
}

void GroupOffsets::commit(std::string group, std::vector<GroupOffset> offsets,
                          core::Executor& executor, std::function<void(core::Result<void>)> done) {
    Writer::MetaWrite write;
    for (const auto& o : offsets) {
        write.pairs.emplace_back(offset_key(group, o.where), meta::number(o.offset));
    }
    write.done = [this, group = std::move(group), offsets = std::move(offsets), &executor,
                  done](const core::Result<void>& written) {
        if (written) {
            const std::scoped_lock lock{mutex_};
            for (const auto& o : offsets) groups_[group][o.where] = o.offset;
        }
        executor.post([done, written] { done(written); });
    };
    if (writer_.submit(std::move(write))) return;
    executor.post([done = std::move(done)] {
        done(core::fail(core::Fault::full, "too many commits wait for the log already"));
    });
}

std::vector<GroupOffset> GroupOffsets::committed(
    const std::string& group, const std::vector<TopicPartition>& partitions) const {
    const std::scoped_lock lock{mutex_};
    std::vector<GroupOffset> found;
    const auto offsets = groups_.find(group);
    if (offsets == groups_.end()) return found;
    for (const auto& where : partitions) {
        const auto at = offsets->second.find(where);
        if (at != offsets->second.end()) found.push_back({where, at->second});
    }
    return found;
}

}  // namespace beckon::log::embedded
