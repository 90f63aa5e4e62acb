#include "log/kafka/reader_clients.hpp"

#include "core/logger.hpp"
#include "log/kafka/ends.hpp"
#include "log/kafka/report.hpp"

#include <algorithm>

namespace beckon::log::kafka {

using std::chrono::milliseconds;

namespace {

/// Starts and stops of readers that may wait. Beyond it they are dropped: such a reader stands
/// still.
constexpr std::size_t kJobsMax = 1'000'000;
constexpr milliseconds kAskAgain{500};
constexpr milliseconds kStartAgain{100};
constexpr milliseconds kErrorsEvery{1000};

/// librdkafka takes the bound for each partition: with separate queues it counts them apart.
std::size_t share_kbytes(const KafkaConfig& config) {
    const auto readers = static_cast<std::size_t>(std::max(config.partitions_read, 1));
    return std::max<std::size_t>(config.fetch_bytes / readers / 1024, 1);
}

PartitionList list_of(const Reading& reading, core::Offset offset) {
    PartitionList list{rd_kafka_topic_partition_list_new(1)};
    rd_kafka_topic_partition_list_add(list.get(), reading.topic.c_str(), reading.where.partition)
        ->offset = offset;
    return list;
}

/// What an earlier assignment fetched; librdkafka keeps one queue for a partition.
void drop_leftovers(const Reading& reading) {
    while (const MessageHandle message{rd_kafka_consume_queue(reading.queue.get(), 0)}) {
    }
}

void log_error(const char* event, const Reading& reading, rd_kafka_error_t* error) {
    core::log_error("log", event,
                    {{"topic", reading.topic},
                     {"partition", reading.where.partition},
                     {"why", rd_kafka_error_string(error)}});
}

}  // namespace

thread_local Reading* Reading::taking = nullptr;

Reading::~Reading() {
    // Under the queue's lock: afterwards no thread of librdkafka is in the callback.
    if (queue) rd_kafka_queue_cb_event_enable(queue.get(), nullptr, nullptr);
}

void Reading::started(std::uint64_t number) {
    assignment = number;
    // Without the second, something left in the queue would hide what comes: librdkafka calls only
    // when the first thing enters an empty queue.
    if (early.exchange(false) || rd_kafka_queue_length(queue.get()) > 0) call();
}

void Reading::call() {
    if (assignment == 0) {
        early = true;
        if (assignment == 0 || !early.exchange(false)) return;
    }
    if (called.exchange(true)) return;
    door->post([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->called = false;
        self->ready();
    });
}

ReaderClients::ReaderClients(const KafkaConfig& config, KafkaEvents& events, Questions& questions)
    : config_(config),
      events_(events),
      questions_(questions),
      first_{make_reader(), {}, {}},
      control_("log-control", kJobsMax) {
    control_.post_after(kErrorsEvery, [this] { serve_errors(); });
}

ClientHandle ReaderClients::make_reader() const {
    const auto kbytes = share_kbytes(config_);
    auto conf = make_conf(
        config_, events_,
        {.defaults = {{"queued.min.messages", "100000"},
                      // A new partition waits for the fetch under way (docs/decisions/0010).
                      {"fetch.wait.max.ms", "100"},
                      {"fetch.error.backoff.ms", "50"}},
         .required = {{"group.id", config_.prefix + "readers"},  // never joined nor committed to
                      {"enable.auto.commit", "false"},
                      {"enable.auto.offset.store", "false"},
                      {"auto.offset.reset", "error"},
                      {"enable.partition.eof", "true"},
                      {"queued.max.messages.kbytes", std::to_string(kbytes)}}});
    rd_kafka_conf_set_error_cb(
        conf.get(), [](rd_kafka_t*, int code, const char* why, void* opaque) {
            const auto error = static_cast<rd_kafka_resp_err_t>(code);
            if (Reading::taking && fault_of(error) == core::Fault::not_found) {
                Reading::taking->unknown = true;
            } else {
                static_cast<KafkaEvents*>(opaque)->error(error, why);
            }
        });
    return make_client(RD_KAFKA_CONSUMER, std::move(conf));
}

/// Errors that concern no partition wait in the clients' main queues.
void ReaderClients::serve_errors() {
    rd_kafka_poll(first_.handle.get(), 0);
    for (const auto& other : others_) rd_kafka_poll(other->handle.get(), 0);
    control_.post_after(kErrorsEvery, [this] { serve_errors(); });
}

void ReaderClients::start(std::shared_ptr<Reading> reading, core::Offset from,
                          std::uint64_t number) {
    control_.post(
        [this, reading = std::move(reading), from, number] { do_start(*reading, from, number); });
}

void ReaderClients::stop(std::shared_ptr<Reading> reading) {
    control_.post([this, reading = std::move(reading)] { do_stop(*reading); });
}

ReaderClient& ReaderClients::client_for(TopicPartition where) {
    if (!first_.reads.contains(where)) return first_;
    for (auto& other : others_) {
        if (!other->reads.contains(where)) return *other;
    }
    return *others_.emplace_back(
        std::make_unique<ReaderClient>(ReaderClient{make_reader(), {}, {}}));
}

void ReaderClients::do_start(Reading& reading, core::Offset from, std::uint64_t number) {
    if (reading.client && reading.client->reads.contains(reading.where)) do_stop(reading);
    if (!reading.client) {
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
    }
    drop_leftovers(reading);
    const auto list = list_of(reading, from);
    const ErrorHandle error{rd_kafka_incremental_assign(reading.client->handle.get(), list.get())};
    if (error) return log_error("assign_failed", reading, error.get());
    reading.client->reads.insert(reading.where);
    reading.started(number);
}

void ReaderClients::do_stop(Reading& reading) {
    if (!reading.client || reading.client->reads.erase(reading.where) == 0) return;
    const auto list = list_of(reading, RD_KAFKA_OFFSET_INVALID);
    const ErrorHandle error{
        rd_kafka_incremental_unassign(reading.client->handle.get(), list.get())};
    if (error) log_error("unassign_failed", reading, error.get());
}

void ReaderClients::resolve(std::shared_ptr<Reading> reading, core::Offset position,
                            std::uint64_t number) {
    questions_.post([this, reading = std::move(reading), position, number] {
        ask_ends(reading, position, number);
    });
}

void ReaderClients::ask_ends(const std::shared_ptr<Reading>& reading, core::Offset position,
                             std::uint64_t number) {
    const auto ends = query_ends(questions_.client(), reading->topic, reading->where.partition);
    if (!ends) {
        questions_.post_after(
            kAskAgain, [this, reading, position, number] { ask_ends(reading, position, number); });
        return;
    }
    if (position > ends->end) {
        reading->above_end = true;
        reading->call();
        return;
    }
    if (position < ends->start) return start(reading, ends->start, number);
    control_.post_after(
        kStartAgain, [this, reading, position, number] { do_start(*reading, position, number); });
}

}  // namespace beckon::log::kafka
