#include "log/kafka/fetch_pace.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <sys/prctl.h>

namespace beckon::log::kafka {

namespace {

/// So many bytes need no further ones.
constexpr std::size_t kFullRequestBytes = std::size_t{64} * 1024;
constexpr std::int16_t kFetch = 1;  // Kafka's API key

/// librdkafka's threads have timers that may be late by more than this waits
/// (client_conf.cpp, LateTimers).
void sleep_exactly(SteadyTime::duration span) {
    const auto before = ::prctl(PR_GET_TIMERSLACK);
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    std::this_thread::sleep_for(span);
    if (before > 0) ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before));
}

/// On the thread of a connection, before the records of the answer are passed to their readers.
rd_kafka_resp_err_t on_response(rd_kafka_t*, int, const char*, std::int32_t, std::int16_t api,
                                std::int16_t, std::int32_t, std::size_t bytes, std::int64_t,
                                rd_kafka_resp_err_t error, void* opaque) noexcept {
    static thread_local FetchPace pace;  // one connection, one thread
    if (api != kFetch || error != RD_KAFKA_RESP_ERR_NO_ERROR) return RD_KAFKA_RESP_ERR_NO_ERROR;
    const auto now = std::chrono::steady_clock::now();
    const auto wait = pace.wait(now, bytes, static_cast<OwnLinger*>(opaque)->at(now));
    if (wait > SteadyTime::duration::zero()) sleep_exactly(wait);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t add_response_interceptor(rd_kafka_t* client, const rd_kafka_conf_t*,
                                             void* opaque, char*, std::size_t) noexcept {
    return rd_kafka_interceptor_add_on_response_received(client, "beckon", on_response, opaque);
}

}  // namespace

SteadyTime::duration FetchPace::wait(SteadyTime now, std::size_t bytes,
                                     SteadyTime::duration linger) {
    const auto due = last_ + linger;
    last_ = bytes < kFullRequestBytes ? std::max(now, due) : now;
    return last_ - now;
}

void pace_fetches(rd_kafka_conf_t* conf, OwnLinger& linger) {
    rd_kafka_conf_interceptor_add_on_new(conf, "beckon", add_response_interceptor, &linger);
}

}  // namespace beckon::log::kafka
