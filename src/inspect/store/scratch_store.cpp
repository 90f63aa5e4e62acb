#include "inspect/store/scratch_store.hpp"

#include "store/edge_store.hpp"

#include <cstdlib>
#include <limits>
#include <system_error>

namespace beckon::inspect {

namespace {

/// The log id of a scratch store, which is folded from the start of any log.
constexpr const char* kNoLogId = "replay";

}  // namespace

core::Result<std::unique_ptr<ScratchStore>> ScratchStore::make() {
    auto pattern = (std::filesystem::temp_directory_path() / "beckon-replay-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) {
        return core::fail(core::Fault::unavailable,
                          "cannot make a directory such as " + pattern + " (TMPDIR names another)");
    }
    return std::unique_ptr<ScratchStore>{new ScratchStore{pattern}};
}

core::Result<void> ScratchStore::open_copy(const std::string& log_id) {
    const auto rotation = store::stored_rotation(directory_);
    return rotation ? open_store(log_id, *rotation) : core::fail(rotation.error());
}

core::Result<void> ScratchStore::open_store(const std::string& log_id, store::Rotation rotation) {
    store::EdgeStoreOptions options;
    options.directory = directory_;
    options.log_id = log_id;
    options.rotation = rotation;
    auto opened = store::EdgeStore::open(options);
    if (!opened) return core::fail(opened.error());
    store_ = std::move(*opened);
    return {};
}

void ScratchStore::use(core::Partition partition) {
    partition_.reset();  // a partition is open once at most
    partition_ = store_->open_partition(partition);
}

core::Result<std::unique_ptr<ScratchStore>> ScratchStore::open(core::Partition partition) {
    auto scratch = make();
    if (!scratch) return scratch;
    if (const auto opened = (*scratch)->open_store(kNoLogId, store::Rotation::monthly); !opened) {
        return core::fail(opened.error());
    }
    (*scratch)->use(partition);
    return scratch;
}

core::Result<std::unique_ptr<ScratchStore>> ScratchStore::copy_of(
    const std::filesystem::path& store, const std::string& log_id) {
    auto scratch = make();
    if (!scratch) return scratch;
    std::error_code failed;
    std::filesystem::copy(store, (*scratch)->directory_, std::filesystem::copy_options::recursive,
                          failed);
    if (failed) {
        return core::fail(core::Fault::unavailable,
                          "cannot copy " + store.string() + ": " + failed.message());
    }
    if (const auto opened = (*scratch)->open_copy(log_id); !opened) {
        return core::fail(opened.error());
    }
    return scratch;
}

core::Result<std::unique_ptr<ScratchStore>> ScratchStore::take_over(std::filesystem::path copy,
                                                                    const std::string& log_id) {
    std::unique_ptr<ScratchStore> scratch{new ScratchStore{std::move(copy)}};
    if (const auto opened = scratch->open_copy(log_id); !opened) {
        return core::fail(opened.error());
    }
    return scratch;
}

ScratchStore::~ScratchStore() {
    partition_.reset();
    store_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

void ScratchStore::fold(log::Topic topic, const core::RecordView& record) {
    topic == log::Topic::kNotifications ? fold_notification(record) : fold_subscription(record);
}

void ScratchStore::fold_notification(const core::RecordView& record) {
    std::visit(core::Overloaded{[&](const core::NotificationAccepted& message) {
                                    partition_->put(record.offset, record.time, message, nullptr);
                                },
                                [&](const core::NotificationFinished& done) {
                                    partition_->finish(done, record.time);
                                },
                                [](const core::BarrierRecord&) {}, [](const core::Lease&) {},
                                [](const core::Unknown&) {}},
               core::decode_notification(record, scratch_));
}

void ScratchStore::fold_subscription(const core::RecordView& record) {
    std::visit(core::Overloaded{
                   [&](const core::ClientRecorded& client) { partition_->put_client(client); },
                   [&](const core::ClientRemoved& client) {
                       partition_->remove_client(client, record.time);
                   },
                   [&](const core::ChannelRecorded& channel) { partition_->put_channel(channel); },
                   [&](const core::ChannelRemoved& channel) {
                       partition_->remove_channel(channel, record.time);
                   },
                   [](const core::BarrierRecord&) {}, [](const core::Lease&) {},
                   [](const core::Unknown&) {}},
               core::decode_subscription(record, scratch_));
}

void each_waiting(store::PartitionStore& partition, const core::Uaid& client, core::Timestamp now,
                  const std::function<void(const store::MessageView&)>& sink) {
    constexpr std::size_t kAtOnce = 1'000;
    store::DrainCursor cursor;
    cursor.until = std::numeric_limits<core::Offset>::max();
    while (!partition.read_pending(client, cursor, kAtOnce, now, sink).done) {
    }
}

}  // namespace beckon::inspect
