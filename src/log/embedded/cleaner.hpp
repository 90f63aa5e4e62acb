#pragma once

#include "log/embedded/log_time.hpp"
#include "log/embedded/partitions.hpp"
#include "log/embedded/storage.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace beckon::log::embedded {

/// A topic's cleaning settings from the topic table, in the embedded log's terms.
struct CleanPolicy {
    bool compact = false;
    core::Duration lag{};                     ///< records younger than this are left alone
    std::optional<core::Duration> retention;  ///< older records of every key are erased
};
/// One policy for each topic, by its index.
std::vector<CleanPolicy> clean_policies(const EmbeddedConfig& config);

/// Removes records that no reader needs any more (thread `log-cleaner`), a bounded step at a time,
/// with pauses in proportion, so that it takes a small share of disk and processor.
///
/// Compaction, per partition: an index walk goes over everything older than the topic's lag and
/// keeps in `latest` the newest offset of each key; a record whose key has a newer one is erased. A
/// second walk, `delete_retention` behind, erases tombstones. Each step is one batch with the
/// walk's new position, so a kill at any point repeats nothing.
class Cleaner {
public:
    Cleaner(const EmbeddedConfig& config, Storage& storage, Partitions& partitions, LogTime& time);
    ~Cleaner();

    /// See EmbeddedLog.
    core::Result<void> clean_now();

private:
    /// The positions of the walks, which have passed everything below.
    struct Walks {
        core::Offset indexed = 0;
        core::Offset dropped = 0;
    };
    /// One record that a walk passes.
    struct Passed {
        core::Offset offset;
        std::string key;
        bool tombstone;
    };
    struct Step {
        std::vector<Passed> records;
        core::Offset end = 0;  ///< the walk's new position
        bool more = false;     ///< it stopped at the step's limit
    };

    void run(const std::stop_token& stop);
    core::Result<bool> clean_some(Partition& partition);
    core::Result<bool> index_some(Partition& partition, const CleanPolicy& policy);
    core::Result<bool> drop_some(Partition& partition, const CleanPolicy& policy);
    core::Result<bool> expire_some(Partition& partition, const CleanPolicy& policy);
    core::Result<Step> walk(TopicPartition where, core::Offset from, core::Offset to,
                            core::Timestamp not_after) const;
    core::Result<std::optional<core::Offset>> latest_of(TopicPartition where,
                                                        const std::string& key) const;
    void save(Batch& batch, TopicPartition where, const Walks& walks);
    core::Timestamp now() const;

    const EmbeddedConfig& config_;
    Storage& storage_;
    Partitions& partitions_;
    const std::vector<CleanPolicy> policies_;
    LogTime& time_;

    std::mutex mutex_;  ///< one step at a time, of the thread or of clean_now()
    Batch batch_;
    std::map<TopicPartition, Walks> walks_;

    std::jthread thread_;  ///< last: it uses the others
};

}  // namespace beckon::log::embedded
