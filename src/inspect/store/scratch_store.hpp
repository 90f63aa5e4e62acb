#pragma once

#include "core/partition.hpp"
#include "core/record.hpp"
#include "core/result.hpp"
#include "log/topic.hpp"
#include "records/events.hpp"
#include "store/edge_store.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace beckon::inspect {

/// A store in a temporary directory, which its destructor removes. One partition at a time is in
/// use. One thread.
class ScratchStore {
public:
    /// Errors: those of EdgeStore::open(), and unavailable: no directory could be made.
    static core::Result<std::unique_ptr<ScratchStore>> open(core::Partition partition);
    /// A copy of another store, which no process may have open. Errors: the same, and corrupt: it
    /// is damaged, or not one that this build reads.
    static core::Result<std::unique_ptr<ScratchStore>> copy_of(const std::filesystem::path& store,
                                                               const std::string& log_id);
    /// Opens a copy of a store in place. Errors: the same.
    static core::Result<std::unique_ptr<ScratchStore>> take_over(std::filesystem::path copy,
                                                                 const std::string& log_id);
    ~ScratchStore();
    ScratchStore(const ScratchStore&) = delete;
    ScratchStore& operator=(const ScratchStore&) = delete;

    /// Folds a record of `notifications` or `subscriptions` like a home, but decides nothing.
    void fold(log::Topic topic, const core::RecordView& record);
    /// The partition in use.
    store::PartitionStore& partition() { return *partition_; }
    void use(core::Partition partition);

private:
    explicit ScratchStore(std::filesystem::path directory) : directory_(std::move(directory)) {}
    static core::Result<std::unique_ptr<ScratchStore>> make();
    /// As the store that was copied is laid out.
    core::Result<void> open_copy(const std::string& log_id);
    core::Result<void> open_store(const std::string& log_id, store::Rotation rotation);
    void fold_notification(const core::RecordView& record);
    void fold_subscription(const core::RecordView& record);

    const std::filesystem::path directory_;
    std::unique_ptr<store::EdgeStore> store_;
    std::unique_ptr<store::PartitionStore> partition_;
    core::DecodeScratch scratch_;
};

/// Passes on every message that waits for a client at `now`, in the order of delivery.
void each_waiting(store::PartitionStore& partition, const core::Uaid& client, core::Timestamp now,
                  const std::function<void(const store::MessageView&)>& sink);

}  // namespace beckon::inspect
