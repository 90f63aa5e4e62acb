#pragma once

#include "store/edge_store.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace beckon::test {

/// What a FaultyStore does wrong, and what it was asked for. Outlives the store.
struct StoreFaults {
    bool fail_commits = false;
    bool fail_reads = false;  ///< of clients
    std::size_t messages_read = 0;
    std::size_t read_since_commit = 0;
    std::size_t most_read_between_commits = 0;
};

/// A real store of one partition, with knobs.
class FaultyStore final : public store::PartitionStore {
public:
    FaultyStore(std::unique_ptr<store::PartitionStore> inner, StoreFaults& faults)
        : inner_(std::move(inner)), faults_(faults) {}

    core::Result<void> commit() override {
        if (faults_.fail_commits) return core::fail(core::Fault::full, "no space");
        faults_.read_since_commit = 0;
        return inner_->commit();
    }
    std::optional<store::StoredClient> client(const core::Uaid& uaid) override {
        if (!faults_.fail_reads) return inner_->client(uaid);
        read_failed_ = true;
        return std::nullopt;
    }
    bool broken() const override { return read_failed_ || inner_->broken(); }
    store::ReadOutcome read_pending(
        const core::Uaid& uaid, store::DrainCursor& cursor, std::size_t max, core::Timestamp now,
        const std::function<void(const store::MessageView&)>& sink) override {
        const auto read = inner_->read_pending(uaid, cursor, max, now, sink);
        faults_.messages_read += read.messages;
        faults_.read_since_commit += read.messages;
        faults_.most_read_between_commits =
            std::max(faults_.most_read_between_commits, faults_.read_since_commit);
        return read;
    }

    std::optional<core::Checkpoint> checkpoint(store::Source source) const override {
        return inner_->checkpoint(source);
    }
    void advance(store::Source source, core::Offset next,
                 std::optional<core::Timestamp> caught_up) override {
        inner_->advance(source, next, caught_up);
    }
    core::Result<void> clear() override { return inner_->clear(); }
    bool dirty() const override { return inner_->dirty(); }
    bool commit_due() const override { return inner_->commit_due(); }
    store::PutOutcome put(core::Offset offset, core::Timestamp appended,
                          const core::NotificationAccepted& message,
                          std::optional<core::MessageKey>* replaced) override {
        return inner_->put(offset, appended, message, replaced);
    }
    bool finish(const core::Uaid& uaid, const core::MessageKey& key,
                core::Timestamp time) override {
        return inner_->finish(uaid, key, time);
    }
    bool put_client(const core::ClientRecorded& client) override {
        return inner_->put_client(client);
    }
    bool remove_client(const core::ClientRemoved& client, core::Timestamp time) override {
        return inner_->remove_client(client, time);
    }
    bool put_channel(const core::ChannelRecorded& channel) override {
        return inner_->put_channel(channel);
    }
    bool remove_channel(const core::ChannelRemoved& channel, core::Timestamp time) override {
        return inner_->remove_channel(channel, time);
    }
    bool owe(const core::Uaid& uaid, const core::MessageKey& key, core::FinishReason reason,
             std::optional<core::Milestone> end) override {
        return inner_->owe(uaid, key, reason, end);
    }
    std::optional<core::Tracked> tracked(const core::Uaid& uaid,
                                         const core::MessageKey& key) override {
        return inner_->tracked(uaid, key);
    }
    std::optional<store::StoredChannel> channel(const core::Uaid& uaid,
                                                const core::ChannelId& channel) override {
        return inner_->channel(uaid, channel);
    }
    std::vector<store::StoredChannel> channels(const core::Uaid& uaid) override {
        return inner_->channels(uaid);
    }
    std::vector<store::Debt> debts_after(const std::optional<store::Debt>& after,
                                         std::size_t max) override {
        return inner_->debts_after(after, max);
    }
    store::NewDebts take_new_debts() override { return inner_->take_new_debts(); }
    std::size_t debt_count() const override { return inner_->debt_count(); }
    std::string digest(core::Timestamp now) override { return inner_->digest(now); }
    std::size_t pending_count(const core::Uaid& uaid, std::size_t at_most) override {
        return inner_->pending_count(uaid, at_most);
    }

private:
    std::unique_ptr<store::PartitionStore> inner_;
    StoreFaults& faults_;
    bool read_failed_ = false;
};

}  // namespace beckon::test
