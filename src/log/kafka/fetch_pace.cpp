#include "log/kafka/fetch_pace.hpp"

#include <algorithm>
#include <cstdint>
#include <thread>

#include <sys/prctl.h>

namespace beckon::log::kafka {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int16_t kFetch = 1;  // Kafka's API key
constexpr std::size_t kBytesPerMillisecond = 3 * 1024;
constexpr std::chrono::microseconds kPauseMax{4000};
constexpr std::size_t kFullBytes = std::size_t{256} * 1024;
constexpr unsigned long kSlackNs = 50'000;  // the kernel's default

/// A connection has a thread of its own.
thread_local Clock::time_point next_at{};

/// The threads of librdkafka have a timer slack of 20 ms (client_conf.cpp).
void sleep_until(Clock::time_point time) {
    if (time <= Clock::now()) return;
    const int slack = ::prctl(PR_GET_TIMERSLACK);
    ::prctl(PR_SET_TIMERSLACK, kSlackNs);
    std::this_thread::sleep_until(time);
    if (slack > 0) ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack));
}

/// On the thread of the connection, before the records of the answer are passed to their readers.
/// librdkafka calls nobody between an answer and the next fetch, so it is the answer that waits.
rd_kafka_resp_err_t on_response(rd_kafka_t*, int, const char*, std::int32_t, std::int16_t api,
                                std::int16_t, std::int32_t, std::size_t bytes, std::int64_t,
                                rd_kafka_resp_err_t error, void* bytes_full) noexcept {
    if (api != kFetch || error != RD_KAFKA_RESP_ERR_NO_ERROR) return RD_KAFKA_RESP_ERR_NO_ERROR;
    const auto pause = pause_after(bytes, reinterpret_cast<std::size_t>(bytes_full));
    if (pause.count() > 0) sleep_until(next_at);
    next_at = Clock::now() + pause;
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/// Called by rd_kafka_new().
rd_kafka_resp_err_t add_pace(rd_kafka_t* client, const rd_kafka_conf_t*, void* opaque, char*,
                             std::size_t) noexcept {
    return rd_kafka_interceptor_add_on_response_received(client, "pace", on_response, opaque);
}

}  // namespace

std::chrono::microseconds pause_after(std::size_t bytes, std::size_t bytes_full) {
    if (bytes >= bytes_full) return {};
    return std::min(kPauseMax, std::chrono::microseconds{bytes * 1000 / kBytesPerMillisecond});
}

void pace_fetches(rd_kafka_conf_t* conf, std::size_t partition_bytes_max) {
    const auto bytes_full = std::min(kFullBytes, partition_bytes_max);
    rd_kafka_conf_interceptor_add_on_new(conf, "pace", add_pace,
                                         reinterpret_cast<void*>(bytes_full));
}

}  // namespace beckon::log::kafka
