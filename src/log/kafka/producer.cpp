#include "log/kafka/producer.hpp"

#include "core/contain.hpp"
#include "core/decimal.hpp"
#include "core/logger.hpp"
#include "log/kafka/report.hpp"
#include "log/kafka/worker.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include <pthread.h>

namespace beckon::log::kafka {

using core::Fault;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

/// librdkafka looks for records that have timed out once a second.
constexpr milliseconds kTimeoutScan{1000};
/// How long log-producer sleeps where nothing is wrong.
constexpr int kIdleMs = 1000;
/// How long it sleeps while replaced clients still have reports to deliver.
constexpr int kBusyMs = 20;
/// The pause between two producers that fail at once.
constexpr milliseconds kReplacePauseMin{50};
constexpr milliseconds kReplacePauseMax{2000};
constexpr milliseconds kFinish{1000};
constexpr milliseconds kPurge{2000};
/// Records that librdkafka holds, of all publishers together; each has a bound of its own.
constexpr std::size_t kQueueRecordsMax = 1'000'000;
/// Space for the framing of a record of kRecordBytesMax.
constexpr std::size_t kFramingBytes = 40'000;
/// The framing of a batch, and of a record in it: a record that a batch of this much less than the
/// topic's limit has no space for, and that the broker refuses, is too large itself.
constexpr std::size_t kBatchFramingBytes = 512;
constexpr const char* kBatchSize = "batch.size";

milliseconds message_timeout(milliseconds publish_timeout) {
    return std::max(publish_timeout - kTimeoutScan, publish_timeout / 2);
}

/// The names are constants with storage of their own, but not null-terminated by type.
HeadersHandle headers_of(const core::Record& record) {
    HeadersHandle headers{rd_kafka_headers_new(record.headers.size())};
    for (const auto& [name, value] : record.headers) {
        rd_kafka_header_add(headers.get(), name.data(), static_cast<ssize_t>(name.size()),
                            value.data(), static_cast<ssize_t>(value.size()));
    }
    return headers;
}

/// The record that this thread is passing to librdkafka. librdkafka also reports a record that it
/// refuses within that call, but that record stays the caller's.
thread_local const Unconfirmed* being_sent = nullptr;

void note_without_offset(const rd_kafka_message_t& message) {
    core::log_error(
        "log", "report_without_offset",
        {{"topic", rd_kafka_topic_name(message.rkt)}, {"partition", message.partition}});
}

/// Only a time that the broker gave says something about its clock.
void learn_time(const rd_kafka_message_t& message, ClockDifference& difference) {
    rd_kafka_timestamp_type_t type{};
    const auto time_ms = rd_kafka_message_timestamp(&message, &type);
    const auto took_us = rd_kafka_message_latency(&message);
    if (type != RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME || took_us < 0) return;
    difference.learn(core::Timestamp{milliseconds{time_ms}}, std::chrono::microseconds{took_us});
}

/// librdkafka's own default, or the user's.
std::size_t batch_size_of(const rd_kafka_conf_t* conf) {
    std::array<char, 32> text{};
    std::size_t size = text.size();
    rd_kafka_conf_get(conf, kBatchSize, text.data(), &size);
    return core::parse_decimal<std::size_t>(text.data()).value_or(kRecordBytesMax);
}

class KafkaPublisher final : public Publisher {
public:
    KafkaPublisher(Producer& producer, core::Executor& executor)
        : producer_(producer), route_(std::make_shared<AnswerRoute>(executor)) {}
    ~KafkaPublisher() override { route_->lifetime.end(); }
    KafkaPublisher(const KafkaPublisher&) = delete;
    KafkaPublisher& operator=(const KafkaPublisher&) = delete;

    void publish(TopicPartition where, core::Record record, AppendDone done) override {
        if (route_->unanswered >= producer_.config().waiting_max) {
            return refuse(std::move(done), {Fault::full, "too many publishes wait for the log"});
        }
        if (size_of(record) > kRecordBytesMax) {
            return refuse(
                std::move(done),
                {Fault::too_large, "the record has " + std::to_string(size_of(record)) +
                                       " bytes, allowed are " + std::to_string(kRecordBytesMax)});
        }
        ++route_->unanswered;
        const auto bytes = size_of(record);
        producer_.send(
            {where, std::move(record),
             std::make_unique<Unconfirmed>(Unconfirmed{route_, std::move(done), bytes})});
    }

    std::size_t unanswered() const override { return route_->unanswered; }

private:
    void refuse(AppendDone done, core::Error error) {
        route_->publisher.post([done = std::move(done), error = std::move(error)] {
            done(core::Result<Appended>{core::fail(error)});
        });
    }

    Producer& producer_;
    const std::shared_ptr<AnswerRoute> route_;
};

}  // namespace

Producer::Client::~Client() {
    for (auto& topic : topics) {
        if (auto* handle_of = topic.load()) rd_kafka_topic_destroy(handle_of);
    }
}

Producer::Producer(const KafkaConfig& config, KafkaEvents& events, QueryThread& retire)
    : config_(config),
      events_(events),
      retire_(retire),
      batch_bytes_max_(config.message_bytes_max -
                       std::min(config.message_bytes_max - 1, kBatchFramingBytes)),
      current_(make_client()),
      keeper_([this](const std::stop_token& stop) { run(stop); }) {}

Producer::~Producer() {
    keeper_.request_stop();
    {
        const std::shared_lock lock{current_mutex_};
        rd_kafka_queue_yield(current_->queue.get());
    }
    keeper_.join();
}

std::unique_ptr<Publisher> Producer::open_publisher(core::Executor& executor) {
    publishes_ = true;
    return std::make_unique<KafkaPublisher>(*this, executor);
}

std::unique_ptr<Producer::Client> Producer::make_client() {
    const auto timeout = std::to_string(message_timeout(config_.publish_timeout).count());
    auto conf = make_conf(
        config_, events_,
        {.defaults = {{"linger.ms", "0"},
                      {"queue.buffering.max.messages", std::to_string(kQueueRecordsMax)}},
         .required = {{"enable.idempotence", "true"},
                      {"acks", "all"},
                      {"max.in.flight.requests.per.connection", "1"},
                      {"message.timeout.ms", timeout},
                      {"message.max.bytes", std::to_string(kRecordBytesMax + kFramingBytes)}}});
    rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_ERROR);
    auto client = std::make_unique<Client>(events_);
    client->batch_bytes = std::min(batch_size_of(conf.get()), batch_bytes_max_);
    const auto batch_bytes = std::to_string(client->batch_bytes);
    rd_kafka_conf_set(conf.get(), kBatchSize, batch_bytes.c_str(), nullptr, 0);
    // rd_kafka_new() calls it, which is where librdkafka takes on_report().
    rd_kafka_conf_interceptor_add_on_new(
        conf.get(), "beckon",
        [](rd_kafka_t* handle, const rd_kafka_conf_t*, void* opaque, char*, std::size_t) {
            return rd_kafka_interceptor_add_on_acknowledgement(handle, "beckon", on_report, opaque);
        },
        client.get());
    client->handle = kafka::make_client(RD_KAFKA_PRODUCER, std::move(conf));
    client->queue.reset(rd_kafka_queue_get_main(client->handle.get()));
    return client;
}

/// The outcome of a record. On librdkafka's threads, which this must not hold up.
rd_kafka_resp_err_t Producer::on_report(rd_kafka_t*, rd_kafka_message_t* message,
                                        void* client) noexcept {
    auto* const reported = static_cast<Unconfirmed*>(message->_private);
    if (reported == being_sent) return RD_KAFKA_RESP_ERR_NO_ERROR;
    const std::unique_ptr<Unconfirmed> one{reported};
    one->route->answer(std::move(one->done),
                       outcome(*message, *one, *static_cast<Client*>(client)));
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

core::Result<Appended> Producer::outcome(const rd_kafka_message_t& message, const Unconfirmed& one,
                                         Client& client) {
    const bool alone = one.bytes > client.batch_bytes;
    auto answer = answer_of({.error = message.err,
                             .offset = message.offset,
                             .time_ms = rd_kafka_message_timestamp(&message, nullptr),
                             .alone = alone});
    if (message.err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
        auto why = refusal("Write", "the topic " + std::string{rd_kafka_topic_name(message.rkt)});
        client.events.refused(why.message);
        return core::fail(std::move(why));
    }
    if (is_refused_for_size(message.err)) {
        if (alone) {
            core::log_sparsely(core::LogLevel::warn, "log", "record_too_large",
                               {{"topic", rd_kafka_topic_name(message.rkt)}, {"bytes", one.bytes}});
        } else if (!client.batch_refused.exchange(true)) {
            rd_kafka_queue_yield(client.queue.get());  // wakes log-producer
        }
    }
    if (answer) {
        client.events.broker_answers();
        learn_time(message, client.events.clock_difference());
    } else if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        note_without_offset(message);
    }
    return answer;
}

rd_kafka_topic_t* Producer::topic_of(Client& client, Topic topic) {
    auto& slot = client.topics[static_cast<std::size_t>(topic.index())];
    if (auto* made = slot.load(std::memory_order_acquire)) return made;
    const std::scoped_lock lock{client.making_topic};
    if (auto* made = slot.load(std::memory_order_acquire)) return made;
    const auto name = config_.prefix + topic.name();
    auto* made = rd_kafka_topic_new(client.handle.get(), name.c_str(), nullptr);
    slot.store(made, std::memory_order_release);
    return made;
}

void Producer::send(Publishing one) {
    core::Result<void> sent = core::fail(Fault::unavailable, "passing the record on threw");
    core::contain("log", [&] { sent = produce(one.where, one.record, one.unconfirmed.get()); });
    if (sent) {
        static_cast<void>(one.unconfirmed.release());
    } else {
        one.unconfirmed->route->answer(std::move(one.unconfirmed->done), core::fail(sent.error()));
    }
}

core::Result<void> Producer::produce(TopicPartition where, const core::Record& record,
                                     Unconfirmed* unconfirmed) {
    const std::shared_lock lock{current_mutex_};
    auto* topic = topic_of(*current_, where.topic);
    if (!topic) return core::fail(Fault::unavailable, rd_kafka_err2str(rd_kafka_last_error()));

    std::array<rd_kafka_vu_t, 7> args{};
    std::size_t count = 0;
    const auto add = [&](rd_kafka_vtype_t type) -> rd_kafka_vu_t& {
        args[count].vtype = type;
        return args[count++];
    };
    add(RD_KAFKA_VTYPE_RKT).u.rkt = topic;
    add(RD_KAFKA_VTYPE_PARTITION).u.i32 = where.partition;
    add(RD_KAFKA_VTYPE_MSGFLAGS).u.i = RD_KAFKA_MSG_F_COPY;
    add(RD_KAFKA_VTYPE_OPAQUE).u.ptr = unconfirmed;
    // librdkafka copies; its interface has no const.
    auto& key = add(RD_KAFKA_VTYPE_KEY).u.mem;
    key.ptr = const_cast<char*>(record.key.data());
    key.size = record.key.size();
    if (record.value) {
        auto& value = add(RD_KAFKA_VTYPE_VALUE).u.mem;
        value.ptr = const_cast<char*>(record.value->data());
        value.size = record.value->size();
    }
    HeadersHandle headers;
    if (!record.headers.empty()) {
        headers = headers_of(record);
        add(RD_KAFKA_VTYPE_HEADERS).u.headers = headers.get();
    }
    being_sent = unconfirmed;
    const ErrorHandle error{rd_kafka_produceva(current_->handle.get(), args.data(), count)};
    being_sent = nullptr;
    if (error) {
        const auto code = rd_kafka_error_code(error.get());
        return core::fail(fault_of(code), rd_kafka_error_string(error.get()));
    }
    static_cast<void>(headers.release());  // the message's own from now on
    return {};
}

void Producer::run(const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "log-producer");
    while (!stop.stop_requested()) {
        serve(current_->queue.get(), replaced_.empty() && !failed() ? kIdleMs : kBusyMs);
        if (failed() && steady_clock::now() >= replace_at_) replace_client();
        serve_replaced();
    }
    finish();
}

void Producer::serve(rd_kafka_queue_t* queue, int wait_ms) {
    EventHandle event{rd_kafka_queue_poll(queue, wait_ms)};
    for (; event; event.reset(rd_kafka_queue_poll(queue, 0))) {
        if (rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_ERROR) continue;
        if (rd_kafka_event_error_is_fatal(event.get())) {
            fatal_ = true;  // replace_client() logs it
        } else {
            events_.error(rd_kafka_event_error(event.get()),
                          rd_kafka_event_error_string(event.get()));
        }
    }
}

void Producer::log_failure() {
    if (current_->batch_refused) {
        core::log_warn("log", "batch_too_large",
                       {{"batch_bytes", current_->batch_bytes}, {"next_bytes", batch_bytes_max_}});
        return;
    }
    std::array<char, 256> why{};
    const auto code = rd_kafka_fatal_error(current_->handle.get(), why.data(), why.size());
    if (code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED) {
        // Kafka gives a producer id only to users with a right to write. It may be allowed later.
        // A process that publishes nothing, such as a tool that only reads, need not know.
        if (publishes_) {
            events_.refused(refusal("Write", "every topic " + config_.prefix + "*").message);
        }
    } else {
        core::log_warn("log", "producer_replaced",
                       {{"code", rd_kafka_err2name(code)}, {"why", why.data()}});
    }
}

void Producer::replace_client() {
    fatal_ = false;
    if (current_->batch_refused) {
        batch_bytes_max_ = std::max<std::size_t>(current_->batch_bytes / 2, 1);
    }
    log_failure();
    const auto now = steady_clock::now();
    // One that fails at once again is not replaced in a hurry.
    const bool again = now - replaced_at_ < 2 * kReplacePauseMax;
    pause_ = again ? std::min(std::max(2 * pause_, kReplacePauseMin), kReplacePauseMax)
                   : milliseconds{0};
    replaced_at_ = now;
    replace_at_ = now + pause_;
    std::unique_ptr<Client> old;
    try {
        auto fresh = make_client();
        const std::unique_lock lock{current_mutex_};
        old = std::exchange(current_, std::move(fresh));
    } catch (const std::runtime_error& error) {
        core::log_error("log", "producer_not_replaced", {{"why", error.what()}});
        fatal_ = true;  // publishes fail at once until it works
        std::this_thread::sleep_for(milliseconds{100});
        return;
    }
    // No publisher uses the old client any more. Each of its records gets a report, but when is
    // librdkafka's matter: the client stays until the last one has come (serve_replaced()).
    rd_kafka_purge(old->handle.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    replaced_.push_back(std::move(old));
}

void Producer::serve_replaced() {
    const bool fatal = fatal_;
    for (auto& client : replaced_) {
        serve(client->queue.get(), 0);
        if (rd_kafka_outq_len(client->handle.get()) > 0) continue;
        // Elsewhere, since it waits for the client's threads.
        retire_.post([old = std::shared_ptr<Client>{std::move(client)}]() mutable { old.reset(); });
    }
    std::erase(replaced_, nullptr);
    fatal_ = fatal;  // the errors of a replaced client are no news
}

void Producer::finish() {
    const auto serve_until_empty = [this](milliseconds limit) {
        const auto until = steady_clock::now() + limit;
        const auto open = [this] {
            return rd_kafka_outq_len(current_->handle.get()) > 0 || !replaced_.empty();
        };
        while (open() && steady_clock::now() < until) {
            serve(current_->queue.get(), kBusyMs);
            serve_replaced();
        }
    };
    serve_until_empty(kFinish);
    rd_kafka_purge(current_->handle.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    serve_until_empty(kPurge);
}

void AnswerRoute::answer(AppendDone done, core::Result<Appended> result) {
    bool first = false;
    {
        const std::scoped_lock lock{mutex_};
        first = answers_.empty();
        answers_.push_back({std::move(done), std::move(result)});
    }
    if (first) publisher.post([this] { deliver(); });
}

void AnswerRoute::deliver() {
    std::vector<Answer> answers;
    {
        const std::scoped_lock lock{mutex_};
        answers.swap(answers_);
    }
    const auto term = lifetime.term();
    for (const auto& answer : answers) {
        --unanswered;
        core::contain("log answers", [&] { answer.done(answer.result); });  // the others' follow
        if (term.over()) return;
    }
}

}  // namespace beckon::log::kafka
