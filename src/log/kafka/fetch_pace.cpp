#include "log/kafka/fetch_pace.hpp"

#include <algorithm>
#include <chrono>

#include <sys/socket.h>

namespace beckon::log::kafka {

namespace {

constexpr std::int16_t kFetch = 1;  // Kafka's API key

/// One connection at a time, one thread.
thread_local FetchPace pace;

/// On the thread of the connection, after the request was given to the kernel. The rate is set each
/// time: the connection may be a new one.
rd_kafka_resp_err_t on_request(rd_kafka_t*, int socket, const char*, std::int32_t, std::int16_t api,
                               std::int16_t, std::int32_t, std::size_t bytes,
                               void* opaque) noexcept {
    if (api != kFetch) return RD_KAFKA_RESP_ERR_NO_ERROR;
    auto& linger = static_cast<FetchPacing*>(opaque)->linger;
    limit_rate(socket, pace.rate(bytes, linger.at(std::chrono::steady_clock::now())));
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/// On the thread of the connection, before the records of the answer are passed to their readers.
rd_kafka_resp_err_t on_response(rd_kafka_t*, int, const char*, std::int32_t, std::int16_t api,
                                std::int16_t, std::int32_t, std::size_t bytes, std::int64_t,
                                rd_kafka_resp_err_t error, void* opaque) noexcept {
    if (api != kFetch || error != RD_KAFKA_RESP_ERR_NO_ERROR) return RD_KAFKA_RESP_ERR_NO_ERROR;
    pace.answered(bytes, static_cast<FetchPacing*>(opaque)->partition_bytes_max);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t add_interceptors(rd_kafka_t* client, const rd_kafka_conf_t*, void* opaque,
                                     char*, std::size_t) noexcept {
    const auto error =
        rd_kafka_interceptor_add_on_request_sent(client, "beckon", on_request, opaque);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return error;
    return rd_kafka_interceptor_add_on_response_received(client, "beckon", on_response, opaque);
}

}  // namespace

SteadyTime::duration FetchPace::apart(SteadyTime::duration linger) const {
    if (full_) return {};
    return std::clamp<SteadyTime::duration>(linger, kApartLeast, kApartMost);
}

std::uint32_t FetchPace::rate(std::size_t bytes, SteadyTime::duration linger) const {
    const std::chrono::duration<double> seconds = apart(linger);
    if (seconds.count() == 0) return kUnlimited;
    return static_cast<std::uint32_t>(static_cast<double>(bytes) / seconds.count());
}

/// A kernel that does not know the option holds nothing back.
void limit_rate(int socket, std::uint32_t rate) {
    ::setsockopt(socket, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);
}

void pace_fetches(rd_kafka_conf_t* conf, FetchPacing& pacing) {
    rd_kafka_conf_interceptor_add_on_new(conf, "beckon", add_interceptors, &pacing);
}

}  // namespace beckon::log::kafka
