#include "log/kafka/reader.hpp"

#include "core/logger.hpp"
#include "log/kafka/report.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace beckon::log::kafka {

using core::Fault;

namespace {

constexpr std::size_t kBatch = 256;

std::string_view text_of(const void* data, std::size_t size) {
    return {static_cast<const char*>(data), size};
}

/// The reader has no records and is not at the end: more are on their way, and `ready` is called
/// when they come.
core::Result<Taken> not_yet() { return core::fail(Fault::unavailable, "on its way"); }

void read_headers(const rd_kafka_message_t& message, std::vector<core::HeaderView>& out) {
    out.clear();
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
        out.push_back({name, text_of(value, size)});
    }
}

}  // namespace

KafkaReader::KafkaReader(ReaderClients& clients, TopicPartition where, std::string topic,
                         core::Offset from, core::Executor& executor, std::function<void()> ready)
    : clients_(clients),
      lifetime_(executor),
      reading_(
          std::make_shared<Reading>(where, std::move(topic), lifetime_.remote(), std::move(ready))),
      position_(std::max<core::Offset>(from, 0)) {
    start_at(position_);
}

KafkaReader::~KafkaReader() {
    lifetime_.end();
    clients_.stop(reading_);
}

void KafkaReader::pause() {
    if (paused_) return;
    paused_ = true;
    ++asked_;  // fetched records are out of date then
    clients_.stop(reading_);
}

void KafkaReader::resume() {
    if (!paused_) return;
    paused_ = false;
    start_at(position_);
}

void KafkaReader::start_at(core::Offset from) {
    received_ = false;
    eof_ = -1;
    clients_.start(reading_, from, ++asked_);
}

core::Result<Taken> KafkaReader::take(std::size_t max, const RecordSink& sink) {
    if (reading_->above_end) {
        return core::fail(Fault::out_of_range, "the position " + std::to_string(position_) +
                                                   " of " + reading_->topic + "/" +
                                                   std::to_string(reading_->where.partition) +
                                                   " lies above the log's end");
    }
    Taken taken;
    if (paused_) return taken;
    if (reading_->assignment != asked_) return not_yet();
    std::array<rd_kafka_message_t*, kBatch> batch;
    bool empty = false;
    Reading::taking = reading_.get();
    while (!empty && taken.records < max) {
        // Never more than is there: for the rest librdkafka waits, if only for no time.
        const auto there = rd_kafka_queue_length(reading_->queue.get());
        const auto wanted = std::min({kBatch, max - taken.records, there});
        if (wanted == 0) {
            empty = true;
            break;
        }
        const auto got =
            rd_kafka_consume_batch_queue(reading_->queue.get(), 0, batch.data(), wanted);
        const auto count = got < 0 ? 0 : static_cast<std::size_t>(got);
        std::size_t i = 0;
        try {
            while (i < count) {
                const MessageHandle message{batch[i++]};
                if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
                    deliver(*message, sink, taken);
                } else {
                    note_error(*message);
                }
            }
        } catch (...) {  // the sink threw: the rest of the batch is fetched again
            Reading::taking = nullptr;
            while (i < count) rd_kafka_message_destroy(batch[i++]);
            if (!paused_) start_at(position_);
            throw;
        }
        empty = count < wanted;
    }
    Reading::taking = nullptr;
    if (taken.records > 0) clients_.events().broker_answers();
    if (taken.records == 0 && std::exchange(reading_->unknown, false)) {
        return core::fail(Fault::not_found, "there is no partition " +
                                                std::to_string(reading_->where.partition) + " of " +
                                                reading_->topic);
    }
    if (taken.records == 0 && std::exchange(reading_->refused, false)) {
        auto why = refusal("Read", "the topic " + reading_->topic);
        clients_.events().refused(why.message);
        return core::fail(std::move(why));
    }
    taken.drained = empty && at_end();
    if (taken.records > 0 || taken.drained) return taken;
    return not_yet();
}

void KafkaReader::deliver(const rd_kafka_message_t& message, const RecordSink& sink, Taken& taken) {
    if (message.offset < position_) return;  // a restart at an older offset; never go back
    read_headers(message, headers_);
    core::RecordView view;
    view.offset = message.offset;
    view.time =
        core::Timestamp{std::chrono::milliseconds{rd_kafka_message_timestamp(&message, nullptr)}};
    view.key = text_of(message.key, message.key_len);
    if (message.payload) {
        view.value = text_of(message.payload, message.len);
    }
    view.headers = headers_;
    received_ = true;
    position_ = message.offset + 1;
    ++taken.records;
    count_taken(view);
    sink(view);
}

/// Half of the queue is taken: if it was full, the other half is taken while the next fetch is
/// under way.
void KafkaReader::count_taken(const core::RecordView& record) {
    taken_bytes_ += record.key.size() + (record.value ? record.value->size() : 0);
    ++taken_records_;
    if (taken_bytes_ < reading_->client->prefetch.bytes_each / 2 &&
        taken_records_ < kPrefetchedMax / 2) {
        return;
    }
    taken_bytes_ = 0;
    taken_records_ = 0;
    clients_.refill(reading_);
}

void KafkaReader::note_error(const rd_kafka_message_t& message) {
    switch (message.err) {
        case RD_KAFKA_RESP_ERR__PARTITION_EOF:
            // Above the position where compaction took the last records.
            position_ = std::max(position_, message.offset);
            eof_ = position_;
            received_ = true;
            return;
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
        case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
            received_ = false;
            clients_.resolve(reading_, position_, ++asked_);
            return;
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART: reading_->unknown = true; return;
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED: reading_->refused = true; return;
        default:
            clients_.events().line(4, "READ", rd_kafka_message_errstr(&message));
            return;  // librdkafka goes on by itself
    }
}

bool KafkaReader::at_end() {
    if (!received_) return false;
    if (eof_ == position_) return true;
    // The end that came with the last fetch; the event itself may be half a second behind.
    std::int64_t low = 0;
    std::int64_t high = 0;
    return rd_kafka_get_watermark_offsets(reading_->client->handle.get(), reading_->topic.c_str(),
                                          reading_->where.partition, &low,
                                          &high) == RD_KAFKA_RESP_ERR_NO_ERROR &&
           high >= 0 && position_ >= high;
}

}  // namespace beckon::log::kafka
