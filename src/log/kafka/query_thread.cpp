#include "log/kafka/query_thread.hpp"

#include <stdexcept>

namespace beckon::log::kafka {

QueryThread::QueryThread(const KafkaConfig& config, KafkaEvents& events)
    : config_(config), events_(events), worker_("log-queries", kQueriesMax) {}

core::Result<rd_kafka_t*> QueryThread::client() {
    try {
        if (!client_) client_ = make_client(RD_KAFKA_PRODUCER, make_conf(config_, events_, {}));
        return client_.get();
    } catch (const std::runtime_error& error) {
        return core::fail(core::Fault::unavailable, error.what());
    }
}

}  // namespace beckon::log::kafka
