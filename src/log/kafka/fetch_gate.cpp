#include "log/kafka/fetch_gate.hpp"

#include <algorithm>
#include <cstdint>

namespace beckon::log::kafka {

namespace {

constexpr std::int16_t kFetch = 1;  // Kafka's API key

/// On the thread of the connection, before the records of the answer are passed to their readers.
rd_kafka_resp_err_t on_response(rd_kafka_t*, int, const char*, std::int32_t, std::int16_t api,
                                std::int16_t, std::int32_t, std::size_t bytes, std::int64_t,
                                rd_kafka_resp_err_t error, void* opaque) noexcept {
    if (api == kFetch && error == RD_KAFKA_RESP_ERR_NO_ERROR) {
        static_cast<FetchGate*>(opaque)->wait(bytes);
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/// Called by rd_kafka_new().
rd_kafka_resp_err_t add_gate(rd_kafka_t* client, const rd_kafka_conf_t*, void* opaque, char*,
                             std::size_t) noexcept {
    return rd_kafka_interceptor_add_on_response_received(client, "gate", on_response, opaque);
}

}  // namespace

FetchGate::FetchGate(std::size_t partition_bytes_max)
    : full_bytes_(std::min(kFullBytes, partition_bytes_max)) {}

std::shared_ptr<void> FetchGate::called() {
    {
        const std::scoped_lock lock{mutex_};
        ++called_;
    }
    return {nullptr, [gate = shared_from_this()](void*) { gate->ran(); }};
}

void FetchGate::ran() {
    const std::scoped_lock lock{mutex_};
    if (--called_ == 0) none_.notify_all();
}

void FetchGate::wait(std::size_t bytes) {
    if (bytes >= full_bytes_) return;
    std::unique_lock lock{mutex_};
    none_.wait_for(lock, kWaitMax, [this] { return called_ == 0; });
}

void wait_at(rd_kafka_conf_t* conf, FetchGate& gate) {
    rd_kafka_conf_interceptor_add_on_new(conf, "gate", add_gate, &gate);
}

}  // namespace beckon::log::kafka
