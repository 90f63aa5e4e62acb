#include "log/kafka/priority.hpp"

#include <cstddef>

#include <sys/resource.h>
#include <unistd.h>

namespace beckon::log::kafka {

namespace {

/// On Linux a niceness is a thread's own.
rd_kafka_resp_err_t on_thread_start(rd_kafka_t*, rd_kafka_thread_type_t type, const char*,
                                    void*) noexcept {
    if (type == RD_KAFKA_THREAD_BROKER) {
        const int own = ::getpriority(PRIO_PROCESS, 0);
        ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), own + kNiceness);
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/// Called by rd_kafka_new(), before there are threads.
rd_kafka_resp_err_t add_priority(rd_kafka_t* client, const rd_kafka_conf_t*, void*, char*,
                                 std::size_t) noexcept {
    return rd_kafka_interceptor_add_on_thread_start(client, "priority", on_thread_start, nullptr);
}

}  // namespace

void give_way(rd_kafka_conf_t* conf) {
    rd_kafka_conf_interceptor_add_on_new(conf, "priority", add_priority, nullptr);
}

}  // namespace beckon::log::kafka
