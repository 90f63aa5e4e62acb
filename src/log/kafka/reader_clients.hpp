#pragma once

#include "core/lifetime.hpp"
#include "log/event_log.hpp"
#include "log/kafka/client_conf.hpp"
#include "log/kafka/worker.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace beckon::log::kafka {

/// The prefetch limits of one reading client: bytes for each partition, and the number of
/// partitions.
struct Prefetch {
    std::size_t partitions = 0;
    std::size_t bytes_each = 0;
};
/// And at most so many records for each, of any size.
inline constexpr std::size_t kPrefetchedMax = 100'000;
/// librdkafka applies this limit to each partition apart, and takes it only when a client is made.
/// So that all partitions together stay within fetch_bytes, however many there are, each further
/// client of a kind takes eight times as many partitions as the one before and half of its bytes.
Prefetch prefetch_of(std::size_t client, const KafkaConfig& config);

/// The topics that a client reads. A fetch names all partitions of its client, and the broker
/// checks each of them for every record that it returns. Every message passes through
/// `notifications`, so its fetches name no partitions of other topics
/// (docs/decisions/0010-kafka-clients-are-separate.md).
enum class ReaderKind : std::uint8_t { messages, other };
inline constexpr std::size_t kReaderKinds = 2;
ReaderKind kind_of(Topic topic);

/// A consumer that never subscribes. It gives each partition a queue of its own, and can read a
/// partition only once.
struct ReaderClient {
    ClientHandle handle;
    Prefetch prefetch;
    // --- control thread only
    std::set<TopicPartition> reads;
    std::map<Topic, TopicHandle> topics;
};

/// One opened partition, shared by its reader (owner's thread), the control thread that makes
/// librdkafka fetch it, and librdkafka's threads that report new records. The reader has a share of
/// it until it ends the lifetime of `reader`.
struct Reading {
    Reading(TopicPartition w, std::string name, core::Lifetime::Remote r,
            std::function<void()> on_ready)
        : where(w), topic(std::move(name)), reader(std::move(r)), ready(std::move(on_ready)) {}
    ~Reading();
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    /// Runs `ready` on the executor, once at a time; calls that come before the first start is in
    /// force wait for that. Any thread.
    void call();
    /// Called by the control thread: the start of that number is in force.
    void started(std::uint64_t number);

    const TopicPartition where;
    const std::string topic;  ///< with prefix
    const core::Lifetime::Remote reader;
    const std::function<void()> ready;

    // --- of the control thread; the owner uses client and queue while `assignment` is the one that
    // it asked for last, and meanwhile they stay
    ReaderClient* client = nullptr;
    QueueHandle queue;
    std::uint64_t wanted = 0;  ///< the number of the last start; 0: stopped
    bool listening = false;    ///< librdkafka calls call()

    /// The number of the start() that is in force; 0: none yet.
    std::atomic<std::uint64_t> assignment = 0;
    /// The position lies above the log's end.
    std::atomic<bool> above_end = false;
    /// `ready` is on its way.
    std::atomic<bool> called = false;
    /// Something came before the first start was in force.
    std::atomic<bool> early = false;
    /// There is no such partition; owner's thread only.
    bool unknown = false;
    /// The broker refuses to let us read it; owner's thread only.
    bool refused = false;

    /// The one that this thread takes from. librdkafka reports "no such partition" not by a message
    /// from the partition's queue but by its error callback, on the thread that polls for messages.
    static thread_local Reading* taking;
};

/// The reading clients of the process, and the thread `log-control` that assigns them their
/// partitions: these calls may wait, and must come in order. Another client of a kind is made when
/// a partition is opened that the others read already, or when they have as many as they may.
class ReaderClients {
public:
    /// `queries` is stopped before this is destroyed.
    ReaderClients(const KafkaConfig& config, KafkaEvents& events, QueryThread& queries);
    ReaderClients(const ReaderClients&) = delete;
    ReaderClients& operator=(const ReaderClients&) = delete;

    // From any thread; they return at once and are carried out in order.

    /// Fetches from `from` on; afterwards reading->assignment is `number`.
    void start(std::shared_ptr<Reading> reading, core::Offset from, std::uint64_t number);
    void stop(std::shared_ptr<Reading> reading);
    /// Space has come in the reading's queue. librdkafka looks only once a second whether a queue
    /// that was full has space again, unless something else happens on the connection.
    void refill(std::shared_ptr<Reading> reading);
    /// The broker does not have the offset `position`: starts at the log's start if it lies below
    /// that, sets above_end if it lies above the end, else (a broker that lags may have answered)
    /// starts there again.
    void resolve(std::shared_ptr<Reading> reading, core::Offset position, std::uint64_t number);

    KafkaEvents& events() const { return events_; }

private:
    using Shared = const std::shared_ptr<Reading>&;

    void must_post(Worker::Job job);

    // --- control thread only
    void serve_errors();
    auto& clients_of(ReaderKind kind) { return clients_[static_cast<std::size_t>(kind)]; }
    std::unique_ptr<ReaderClient> make_reader(std::size_t index);
    ReaderClient& client_for(TopicPartition where);
    void open_queue(Reading& reading);
    void do_start(Shared reading, core::Offset from, std::uint64_t number);
    void start_later(core::Duration delay, Shared reading, core::Offset from, std::uint64_t number);
    void do_stop(Reading& reading);
    void ask_ends(Shared reading, core::Offset position, std::uint64_t number);
    void ask_ends_later(Shared reading, core::Offset position, std::uint64_t number);
    void take_ends(Shared reading, core::Offset position, std::uint64_t number,
                   const core::Result<Ends>& ends);

    const KafkaConfig config_;
    KafkaEvents& events_;
    QueryThread& queries_;
    /// The clients of each kind; control thread only.
    std::array<std::vector<std::unique_ptr<ReaderClient>>, kReaderKinds> clients_;
    Worker control_;  ///< last: its jobs use the others
};

}  // namespace beckon::log::kafka
