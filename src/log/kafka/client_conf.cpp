#include "log/kafka/client_conf.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace beckon::log::kafka {

namespace {

struct Refused {
    std::string_view name;
    std::string_view why;
};

constexpr std::string_view kPromise1 = "a 201 is a promise that Beckon alone must keep";
constexpr std::string_view kOffsets = "Beckon keeps its own offsets";
constexpr std::string_view kMembers = "Beckon sets what its membership needs";

/// What would break a promise, or is set by an option of our own. Everything else passes through.
constexpr std::array kRefused = {
    Refused{"acks", kPromise1},
    Refused{"request.required.acks", kPromise1},
    Refused{"enable.idempotence", kPromise1},
    Refused{"enable.gapless.guarantee", kPromise1},
    Refused{"max.in.flight", kPromise1},
    Refused{"max.in.flight.requests.per.connection", kPromise1},
    Refused{"transactional.id", kPromise1},
    Refused{"message.send.max.retries", kPromise1},
    Refused{"retries", kPromise1},
    Refused{"delivery.report.only.error", kPromise1},
    Refused{"produce.offset.report", kPromise1},
    Refused{"queuing.strategy", "records of one partition keep their order"},
    Refused{"message.timeout.ms", "it follows from publish_timeout"},
    Refused{"delivery.timeout.ms", "it follows from publish_timeout"},
    Refused{"message.max.bytes", "it follows from the limit of a record"},
    Refused{"queued.max.messages.kbytes", "it follows from fetch_bytes"},
    Refused{"bootstrap.servers", "kafka.servers sets it"},
    Refused{"metadata.broker.list", "kafka.servers sets it"},
    Refused{"client.id", "it is the node's id"},
    Refused{"group.id", kMembers},
    Refused{"group.instance.id", kMembers},
    Refused{"partition.assignment.strategy", kMembers},
    Refused{"session.timeout.ms", kMembers},
    Refused{"max.poll.interval.ms", kMembers},
    Refused{"auto.offset.reset", kOffsets},
    Refused{"enable.auto.commit", kOffsets},
    Refused{"auto.commit.enable", kOffsets},
    Refused{"enable.auto.offset.store", kOffsets},
    Refused{"enable.partition.eof", kOffsets},
    Refused{"log_level", "Beckon's own log level decides"},
    Refused{"log.queue", "Beckon's own log takes the lines"},
    Refused{"enabled_events", "Beckon sets what it serves"},
};

void refuse(const std::string& name) {
    const auto found = std::find_if(kRefused.begin(), kRefused.end(),
                                    [&](const Refused& refused) { return refused.name == name; });
    if (found == kRefused.end()) return;
    throw std::runtime_error("the librdkafka option '" + name +
                             "' cannot be set: " + std::string{found->why});
}

void set(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
    std::array<char, 512> why{};
    if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why.data(), why.size()) !=
        RD_KAFKA_CONF_OK) {
        throw std::runtime_error("librdkafka does not take '" + name + "=" + value +
                                 "': " + why.data());
    }
}

}  // namespace

ConfHandle make_conf(const KafkaConfig& config, KafkaEvents& events,
                     std::initializer_list<Setting> settings) {
    ConfHandle conf{rd_kafka_conf_new()};
    rd_kafka_conf_set_opaque(conf.get(), &events);
    rd_kafka_conf_set_log_cb(conf.get(), KafkaEvents::log_callback);
    const std::initializer_list<Setting> common = {
        {"bootstrap.servers", config.bootstrap_servers},
        {"client.id", config.client_id.empty() ? "beckon" : config.client_id},
        {"log.connection.close", "false"},  // a broker closes what is idle; nothing is wrong
        {"socket.nagle.disable", "true"},
        {"socket.keepalive.enable", "true"},
        {"socket.connection.setup.timeout.ms", "3000"},
        // A broker that hangs is noticed so fast; the default is a minute.
        {"socket.timeout.ms", "5000"},
        // Recovery after a broker's restart is as quick as these; both are per broker.
        {"reconnect.backoff.ms", "50"},
        {"reconnect.backoff.max.ms", "500"},
        {"topic.metadata.refresh.fast.interval.ms", "50"},
        // How long a topic may be unknown before it is an error; the default is 30 s.
        {"topic.metadata.propagation.max.ms", "1000"},
    };
    for (const auto& [name, value] : common) set(conf.get(), name, value);
    for (const auto& [name, value] : config.librdkafka) {
        refuse(name);
        set(conf.get(), name, value);
    }
    // Last: what a client cannot do without is nobody's to change.
    for (const auto& [name, value] : settings) set(conf.get(), name, value);
    return conf;
}

ClientHandle make_client(rd_kafka_type_t type, ConfHandle conf) {
    std::array<char, 512> why{};
    ClientHandle client{rd_kafka_new(type, conf.get(), why.data(), why.size())};
    if (!client) throw std::runtime_error(why.data());  // conf is still ours and is freed here
    static_cast<void>(conf.release());                  // librdkafka owns it from now on
    return client;
}

}  // namespace beckon::log::kafka
