#include "log/kafka/questions.hpp"

namespace beckon::log::kafka {

namespace {
/// Questions that wait; more are answered `full`.
constexpr std::size_t kQuestionsMax = 10'000;
}  // namespace

Questions::Questions(const KafkaConfig& config, KafkaEvents& events)
    : config_(config), events_(events), worker_("log-queries", kQuestionsMax) {}

rd_kafka_t* Questions::client() {
    if (!client_) client_ = make_client(RD_KAFKA_PRODUCER, make_conf(config_, events_, {}));
    return client_.get();
}

}  // namespace beckon::log::kafka
