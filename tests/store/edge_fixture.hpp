#pragma once

#include "core/ids.hpp"
#include "records/events.hpp"
#include "store/edge_store.hpp"
#include "support/temp_dir.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

/// Builders for the store's tests: messages by short names, one client, one partition.
namespace beckon::store::test {

inline core::Timestamp at(std::int64_t seconds) {
    return core::Timestamp{std::chrono::milliseconds{1'790'000'000'000}} +
           std::chrono::seconds{seconds};
}

template <class Id>
Id id_of(std::string_view name) {
    Id id;
    std::memcpy(id.bytes.data(), name.data(), std::min(name.size(), id.bytes.size()));
    return id;
}
inline core::MessageKey key_of(std::string_view name) { return id_of<core::MessageKey>(name); }
inline core::ChannelId channel_of(std::string_view name) { return id_of<core::ChannelId>(name); }
inline core::Uaid uaid_of(std::string_view name) { return id_of<core::Uaid>(name); }
inline std::string name_of(const core::Bytes16& bytes) {
    const std::string text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    return text.substr(0, text.find('\0'));
}

/// How a message differs from the usual one: channel c1, no Topic, an hour to live.
struct Message {
    std::uint32_t ttl_s = 3600;
    std::string_view channel = "c1";
    std::optional<std::string_view> topic = std::nullopt;
    std::string_view body = "body";
    std::optional<std::string_view> reliability_id = std::nullopt;
};

inline core::NotificationAccepted accepted(const core::Uaid& uaid, std::string_view name,
                                           const Message& how = {}) {
    core::NotificationAccepted event;
    event.uaid = uaid;
    event.key = key_of(name);
    event.message_id = name;
    event.channel = channel_of(how.channel);
    event.ttl_s = how.ttl_s;
    event.topic = how.topic;
    event.body = how.body;
    event.reliability_id = how.reliability_id;
    return event;
}

/// One client in one partition of a store on disk. Records are appended one second apart.
class EdgeFixture {
public:
    explicit EdgeFixture(EdgeStoreOptions changes = {}) : options_(std::move(changes)) {
        options_.directory = dir_ / "edge";
        if (options_.log_id.empty()) options_.log_id = "log-1";
        open();
    }

    PartitionStore& part() { return *part_; }
    EdgeStore& store() { return *store_; }
    EdgeStoreOptions& options() { return options_; }
    const beckon::test::TempDir& dir() const { return dir_; }

    void open() {
        auto opened = EdgeStore::open(options_);
        if (!opened) throw std::runtime_error(opened.error().message);
        store_ = std::move(*opened);
        part_ = store_->open_partition(3);
    }
    void close() {
        part_.reset();
        store_.reset();
    }
    /// A restart: what was not committed is lost.
    void reopen() {
        close();
        open();
    }

    PutOutcome put(core::Offset offset, std::string_view name, const Message& how = {}) {
        return part_->put(offset, at(offset), accepted(uaid, name, how), &replaced_);
    }
    /// The key that the last put() replaced.
    std::string replaced() const { return replaced_ ? name_of(replaced_->bytes) : ""; }
    bool finish(std::string_view name, std::int64_t seconds = 0,
                core::FinishReason reason = core::FinishReason::acked) {
        return part_->finish({.uaid = uaid, .key = key_of(name), .reason = reason, .source = {}},
                             at(seconds));
    }
    bool add_tombstone(std::string_view name,
                       core::FinishReason reason = core::FinishReason::acked) {
        return part_->add_tombstone(uaid, key_of(name), reason);
    }
    bool add_acked_tombstone(std::string_view name) {
        return part_->add_acked_tombstone(uaid, key_of(name), std::nullopt);
    }
    /// As a fold does it: a disk that is behind with flushes is asked again, for some seconds.
    void commit() {
        auto committed = part_->commit();
        for (int i = 0; i < 1'000 && !committed; ++i) {
            if (committed.error().fault != core::Fault::full) break;
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
            committed = part_->commit();
        }
        if (!committed) throw std::runtime_error(committed.error().message);
    }

    /// The pending messages in the order of a drain: "m1 m2".
    std::string drain(std::int64_t now_s = 100, std::size_t window = 10) {
        DrainCursor cursor{.topics = true, .after = -1, .until = core::Offset{1} << 40};
        std::string names;
        for (;;) {
            const auto read = part_->read_pending(uaid, cursor, window, at(now_s),
                                                  [&](const MessageView& message) {
                                                      names += names.empty() ? "" : " ";
                                                      names += message.message_id;
                                                  });
            part_->expire(uaid, read.expired);
            if (read.done) return names;
        }
    }
    /// One read: "m1 m2", with " done" if it said so.
    std::string read(DrainCursor& cursor, std::size_t max, std::int64_t now_s = 100) {
        std::string text;
        const auto add = [&](std::string_view word) {
            if (!text.empty()) text += ' ';
            text += word;
        };
        const auto outcome = part_->read_pending(uaid, cursor, max, at(now_s),
                                                 [&](const MessageView& m) { add(m.message_id); });
        part_->expire(uaid, outcome.expired);
        if (outcome.done) add("done");
        return text;
    }
    /// "m1:acked m2:replaced"
    std::string pending_tombstones() { return text_of(part_->pending_tombstones()); }
    std::string new_pending_tombstones() {
        return text_of(part_->take_new_pending_tombstones().pending_tombstones);
    }

    core::Uaid uaid = uaid_of("client-1");

private:
    static std::string text_of(const std::vector<PendingTombstone>& pending_tombstones) {
        std::string text;
        for (const auto& pending : pending_tombstones) {
            text += text.empty() ? "" : " ";
            text += name_of(pending.key.bytes) + ":" + std::string{core::to_string(pending.reason)};
        }
        return text;
    }

    beckon::test::TempDir dir_;
    EdgeStoreOptions options_;
    std::unique_ptr<EdgeStore> store_;
    std::unique_ptr<PartitionStore> part_;
    std::optional<core::MessageKey> replaced_;
};

}  // namespace beckon::store::test
