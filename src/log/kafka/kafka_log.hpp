#pragma once

#include "log/event_log.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <string>

namespace beckon::log {

struct KafkaConfig {
    std::string bootstrap_servers;
    std::string prefix = "beckon.";
    std::string client_id;  ///< the node id
    std::chrono::milliseconds publish_timeout = kPublishTimeout;
    /// The least max.message.bytes of the log topics, Kafka's default unless it is known: no batch
    /// of several records is larger, since a broker refuses it whole.
    std::size_t message_bytes_max = 1'048'588;
    std::size_t waiting_max = kWaitingMax;  ///< publishes not yet answered; more are `full`
    std::size_t fetch_bytes = 64U << 20;    ///< prefetched by all partitions together
    /// About how many partitions the process reads. Further ones prefetch less each, so that
    /// fetch_bytes stays the bound of all (reader_clients.hpp: prefetch_of()).
    core::Partition partitions_read = 64;
    /// Options passed to librdkafka by name, e.g. security.protocol; an option that would break
    /// promise 1 is refused.
    std::map<std::string, std::string> librdkafka;
    /// The files that hold the values of some of these, by the option's name: each new client reads
    /// them again.
    std::map<std::string, std::string> librdkafka_files;
};

/// Makes the clients; does not wait for a broker. Throws core::SetupError for an option that
/// librdkafka or we refuse, naming it.
std::unique_ptr<EventLog> open_kafka_log(const KafkaConfig& config);

/// Whether brokers have refused to let this user join a group, as far as that is known. `group` is
/// its whole name. Any thread.
bool has_refused_group(const EventLog& log, const std::string& group);

/// The content of a file that holds the value of an option, without the ends of its last lines.
/// Errors: not_found.
core::Result<std::string> read_option_file(const std::string& file);

/// The login of SASL PLAIN or SCRAM.
struct KafkaLogin {
    std::string username;
    std::string password;
    bool operator==(const KafkaLogin&) const = default;
};
/// As options and files have it now. Errors: not_found: a file cannot be read.
core::Result<KafkaLogin> read_kafka_login(const KafkaConfig& config);
/// Gives it to every client of the process, for its next login at a broker: connections that stand
/// stay. Any thread.
void use_kafka_login(const KafkaLogin& login);

/// Makes one client that knows no broker, and ends it: throws as open_kafka_log() does.
void check_kafka_options(const KafkaConfig& config);

}  // namespace beckon::log
