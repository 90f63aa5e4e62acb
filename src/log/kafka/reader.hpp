#pragma once

#include "log/kafka/reader_clients.hpp"

#include <vector>

namespace beckon::log::kafka {

/// A partition read through its own queue. pause() gives the partition back and resume() takes it
/// again at the position, instead of librdkafka's own pause: that one is slow to resume (up to a
/// second) and together with batches skips offsets (docs/facts/librdkafka.md#readers).
class KafkaReader final : public PartitionReader {
public:
    /// `topic`: its name with the prefix.
    KafkaReader(ReaderClients& clients, TopicPartition where, std::string topic, core::Offset from,
                core::Executor& executor, std::function<void()> ready);
    ~KafkaReader() override;

    core::Result<Taken> take(std::size_t max, const RecordSink& sink) override;
    core::Offset position() const override { return position_; }
    void pause() override;
    void resume() override;

private:
    void start_at(core::Offset from);
    void deliver(const rd_kafka_message_t& message, const RecordSink& sink, Taken& taken);
    void note_error(const rd_kafka_message_t& message);
    void count_taken(const core::RecordView& record);
    bool at_end();

    ReaderClients& clients_;
    core::Lifetime lifetime_;
    const std::shared_ptr<Reading> reading_;
    core::Offset position_;
    std::uint64_t asked_ = 0;  ///< number of the last start that was asked for
    bool paused_ = false;
    core::Offset eof_ = -1;  ///< the position at which the broker had no more
    /// Since space in the queue was last reported.
    std::size_t taken_bytes_ = 0;
    std::size_t taken_records_ = 0;
    bool received_ = false;  ///< something came since the last start: its idea of the end is new
    std::vector<core::HeaderView> headers_;
};

}  // namespace beckon::log::kafka
