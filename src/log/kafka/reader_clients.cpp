#include "log/kafka/reader_clients.hpp"

#include "core/assert.hpp"
#include "core/logger.hpp"
#include "log/kafka/fetch_pace.hpp"
#include "log/kafka/metadata.hpp"
#include "log/kafka/report.hpp"
#include "log/kafka/worker.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace beckon::log::kafka {

using std::chrono::milliseconds;

namespace {

/// An open reader has one or two jobs here. So many mean that the control thread hangs for good.
constexpr std::size_t kJobsMax = 1'000'000;
/// How many more partitions the next client takes.
constexpr std::size_t kGrowth = 8;
constexpr std::size_t kBytesEachMin = 1024;
constexpr milliseconds kReaderRetryAfter{500};
constexpr milliseconds kStartAgain{100};
/// After an assignment that librdkafka refused, or a client that could not be made.
constexpr milliseconds kStartAfterFailure{1000};
constexpr milliseconds kErrorsEvery{1000};
/// The librdkafka that has fetch.queue.backoff.ms, a second by default; before, nothing set it.
constexpr int kQueueBackoffSince = 0x02020000;

PartitionList reader_list_of(const Reading& reading, core::Offset offset) {
    PartitionList list{rd_kafka_topic_partition_list_new(1)};
    rd_kafka_topic_partition_list_add(list.get(), reading.topic.c_str(), reading.where.partition)
        ->offset = offset;
    return list;
}

/// Records of an earlier assignment; librdkafka keeps one queue for a partition.
void drop_leftovers(const Reading& reading) {
    while (const MessageHandle message{rd_kafka_consume_queue(reading.queue.get(), 0)}) {
    }
}

void log_error(const char* event, const Reading& reading, std::string_view why) {
    core::log_error(
        "log", event,
        {{"topic", reading.topic}, {"partition", reading.where.partition}, {"why", why}});
}

/// Under the queue's lock: when this returns, no thread of librdkafka is in the callback. A later
/// reading of the same partition has the same queue, so this must not come after it listens.
void stop_listening(Reading& reading) {
    if (!std::exchange(reading.listening, false)) return;
    rd_kafka_queue_cb_event_enable(reading.queue.get(), nullptr, nullptr);
}

}  // namespace

thread_local Reading* Reading::taking = nullptr;

Prefetch prefetch_of(std::size_t client, const KafkaConfig& config) {
    auto partitions = static_cast<std::size_t>(std::max(config.partitions_read, 1));
    auto bytes = config.fetch_bytes / kReaderKinds / 2;
    for (std::size_t i = 0; i < client; ++i) {
        partitions *= kGrowth;
        bytes /= 2;
    }
    return {partitions, std::max(bytes / partitions, kBytesEachMin)};
}

ReaderKind kind_of(Topic topic) {
    return topic == Topic::kNotifications ? ReaderKind::messages : ReaderKind::other;
}

/// Only where the log is closed before the control thread came to stop it.
Reading::~Reading() { stop_listening(*this); }

void Reading::started(std::uint64_t number) {
    assignment = number;
    // Without the second, a record left in the queue would hide later ones: librdkafka calls only
    // when a record enters an empty queue.
    if (early.exchange(false) || rd_kafka_queue_length(queue.get()) > 0) call();
}

void Reading::call() {
    if (assignment == 0) {
        early = true;
        if (assignment == 0 || !early.exchange(false)) return;
    }
    if (called.exchange(true)) return;
    reader.post([this] {
        called = false;
        const auto run = ready;  // it may destroy the reader, and with it this
        run();
    });
}

ReaderClients::ReaderClients(const KafkaConfig& config, KafkaEvents& events, QueryThread& queries)
    : config_(config), events_(events), queries_(queries), control_("log-control", kJobsMax) {
    // Here it may throw: an option that librdkafka refuses.
    clients_of(ReaderKind::other).push_back(make_reader(0));
    control_.post_after(kErrorsEvery, [this] { serve_errors(); });
}

std::unique_ptr<ReaderClient> ReaderClients::make_reader(std::size_t index) {
    const auto prefetch = prefetch_of(index, config_);
    const auto all = std::to_string(
        std::max<std::size_t>(prefetch.partitions * prefetch.bytes_each, 2 * kRecordBytesMax));
    std::vector<Setting> defaults = {
        {"queued.min.messages", std::to_string(kPrefetchedMax)},
        // A new partition waits for the fetch under way (docs/decisions/0010).
        {"fetch.wait.max.ms", "100"},
        {"fetch.error.backoff.ms", "50"},
        // One answer of a broker holds no more than the prefetch allows.
        {"fetch.message.max.bytes", std::to_string(prefetch.bytes_each)},
        {"fetch.max.bytes", all}};
    // A reader that has space again reports it itself, see refill().
    if (rd_kafka_version() >= kQueueBackoffSince)
        defaults.push_back({"fetch.queue.backoff.ms", "0"});
    auto conf = make_conf(
        config_, events_,
        {.defaults = std::move(defaults),
         .required = {{"group.id", config_.prefix + "readers"},  // never joined nor committed to
                      {"enable.auto.commit", "false"},
                      {"enable.auto.offset.store", "false"},
                      {"auto.offset.reset", "error"},
                      {"enable.partition.eof", "true"},
                      {"queued.max.messages.kbytes", std::to_string(prefetch.bytes_each / 1024)}}});
    pace_fetches(conf.get(), prefetch.bytes_each);
    rd_kafka_conf_set_error_cb(
        conf.get(), [](rd_kafka_t*, int code, const char* why, void* opaque) {
            const auto error = static_cast<rd_kafka_resp_err_t>(code);
            if (Reading::taking && fault_of(error) == core::Fault::not_found) {
                Reading::taking->unknown = true;
            } else {
                static_cast<KafkaEvents*>(opaque)->error(error, why);
            }
        });
    return std::make_unique<ReaderClient>(
        ReaderClient{make_client(RD_KAFKA_CONSUMER, std::move(conf)), prefetch, {}, {}});
}

/// Errors that concern no partition wait in the clients' main queues.
void ReaderClients::serve_errors() {
    for (const auto& clients : clients_) {
        for (const auto& client : clients) rd_kafka_poll(client->handle.get(), 0);
    }
    control_.post_after(kErrorsEvery, [this] { serve_errors(); });
}

void ReaderClients::start(std::shared_ptr<Reading> reading, core::Offset from,
                          std::uint64_t number) {
    must_post([this, reading = std::move(reading), from, number] {
        reading->wanted = number;
        do_start(reading, from, number);
    });
}

void ReaderClients::stop(std::shared_ptr<Reading> reading) {
    must_post([this, reading = std::move(reading)] {
        reading->wanted = 0;
        do_stop(*reading);
    });
}

/// A query about the partition, whose answer is dropped, wakes the thread that decides the next
/// fetch; nothing lighter does that.
void ReaderClients::refill(std::shared_ptr<Reading> reading) {
    control_.post([reading = std::move(reading)] {
        if (!reading->client) return;
        const auto list = reader_list_of(*reading, RD_KAFKA_OFFSET_END);
        rd_kafka_offsets_for_times(reading->client->handle.get(), list.get(), 0);
    });
}

void ReaderClients::resolve(std::shared_ptr<Reading> reading, core::Offset position,
                            std::uint64_t number) {
    must_post([this, reading = std::move(reading), position, number] {
        reading->wanted = number;
        ask_ends(reading, position, number);
    });
}

void ReaderClients::must_post(Worker::Job job) {
    const bool posted = control_.post(std::move(job));
    BECKON_ASSERT(posted, "the control thread of the log's readers hangs");
}

ReaderClient& ReaderClients::client_for(TopicPartition where) {
    auto& clients = clients_of(kind_of(where.topic));
    for (auto& client : clients) {
        const bool capacity = client->reads.size() < client->prefetch.partitions;
        if (capacity && !client->reads.contains(where)) return *client;
    }
    return *clients.emplace_back(make_reader(clients.size()));
}

/// Takes a client for the reading, and the partition's queue from it.
void ReaderClients::open_queue(Reading& reading) {
    reading.client = &client_for(reading.where);
    // Asks where the topic is at once; otherwise librdkafka looks for it once a second.
    auto& topic = reading.client->topics[reading.where.topic];
    if (!topic) {
        topic.reset(
            rd_kafka_topic_new(reading.client->handle.get(), reading.topic.c_str(), nullptr));
    }
    reading.queue.reset(rd_kafka_queue_get_partition(
        reading.client->handle.get(), reading.topic.c_str(), reading.where.partition));
    // Both before the assignment, or the first records go to the client's main queue.
    rd_kafka_queue_forward(reading.queue.get(), nullptr);
    rd_kafka_queue_cb_event_enable(
        reading.queue.get(),
        [](rd_kafka_t*, void* opaque) { static_cast<Reading*>(opaque)->call(); }, &reading);
    reading.listening = true;
    drop_leftovers(reading);
}

void ReaderClients::do_start(Shared reading, core::Offset from, std::uint64_t number) {
    if (reading->wanted != number) return;  // stopped or started anew meanwhile
    do_stop(*reading);
    try {
        open_queue(*reading);
    } catch (const std::runtime_error& error) {
        log_error("reader_not_made", *reading, error.what());
        return start_later(kStartAfterFailure, reading, from, number);
    }
    const auto list = reader_list_of(*reading, from);
    const ErrorHandle error{rd_kafka_incremental_assign(reading->client->handle.get(), list.get())};
    if (error) {
        log_error("assign_failed", *reading, rd_kafka_error_string(error.get()));
        return start_later(kStartAfterFailure, reading, from, number);
    }
    reading->client->reads.insert(reading->where);
    reading->started(number);
}

void ReaderClients::start_later(core::Duration delay, Shared reading, core::Offset from,
                                std::uint64_t number) {
    control_.post_after(delay, [this, reading, from, number] { do_start(reading, from, number); });
}

/// The queue stays until the next start: its owner may be about to read it.
void ReaderClients::do_stop(Reading& reading) {
    stop_listening(reading);
    auto* const client = std::exchange(reading.client, nullptr);
    if (!client || client->reads.erase(reading.where) == 0) return;
    const auto list = reader_list_of(reading, RD_KAFKA_OFFSET_INVALID);
    const ErrorHandle error{rd_kafka_incremental_unassign(client->handle.get(), list.get())};
    if (error) log_error("unassign_failed", reading, rd_kafka_error_string(error.get()));
}

void ReaderClients::ask_ends(Shared reading, core::Offset position, std::uint64_t number) {
    if (reading->wanted != number) return;
    const bool asked = queries_.post([this, reading, position, number] {
        const auto client = queries_.client();
        const auto stop = queries_.stopping();
        const auto ends = client ? query_ends({.client = *client,
                                               .events = events_,
                                               .topic = reading->topic,
                                               .partition = reading->where.partition,
                                               .stop = stop})
                                 : core::Result<Ends>{core::fail(client.error())};
        control_.post([this, reading, position, number, ends] {
            take_ends(reading, position, number, ends);
        });
    });
    if (!asked) ask_ends_later(reading, position, number);
}

void ReaderClients::ask_ends_later(Shared reading, core::Offset position, std::uint64_t number) {
    control_.post_after(kReaderRetryAfter,
                        [this, reading, position, number] { ask_ends(reading, position, number); });
}

void ReaderClients::take_ends(Shared reading, core::Offset position, std::uint64_t number,
                              const core::Result<Ends>& ends) {
    if (reading->wanted != number) return;
    if (!ends) return ask_ends_later(reading, position, number);
    if (position > ends->end) {
        reading->above_end = true;
        reading->call();
        return;
    }
    if (position < ends->start) return do_start(reading, ends->start, number);
    start_later(kStartAgain, reading, position, number);
}

}  // namespace beckon::log::kafka
