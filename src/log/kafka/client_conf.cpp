#include "log/kafka/client_conf.hpp"

#include "core/assert.hpp"
#include "core/logger.hpp"
#include "core/setup_error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

#include <sys/prctl.h>
#include <unistd.h>

namespace beckon::log::kafka {

namespace {

/// An option that is not the user's to set.
struct Fixed {
    std::string_view name;
    std::string_view value;  ///< its fixed value; empty: it follows from another setting
    std::string_view why;
};

constexpr std::string_view kPromise1 = "a 201 is a promise that Beckon alone must keep";
constexpr std::string_view kOffsets = "Beckon keeps its own offsets";
constexpr std::string_view kMembers = "Beckon sets the options of its membership";
constexpr std::string_view kTimeout = "it follows from publish_timeout";

/// Options that would break a promise, or that one of Beckon's own options sets, under each of
/// their names. All others pass through.
constexpr std::array kFixed = {
    Fixed{"acks", "all", kPromise1},
    Fixed{"request.required.acks", "all", kPromise1},
    Fixed{"enable.idempotence", "true", kPromise1},
    Fixed{"enable.gapless.guarantee", "", kPromise1},
    Fixed{"max.in.flight", "1", kPromise1},
    Fixed{"max.in.flight.requests.per.connection", "1", kPromise1},
    Fixed{"transactional.id", "", kPromise1},
    Fixed{"message.send.max.retries", "", kPromise1},
    Fixed{"retries", "", kPromise1},
    Fixed{"delivery.report.only.error", "false", kPromise1},
    Fixed{"produce.offset.report", "", kPromise1},
    Fixed{"queuing.strategy", "fifo", "records of one partition keep their order"},
    Fixed{"message.timeout.ms", "", kTimeout},
    Fixed{"delivery.timeout.ms", "", kTimeout},
    Fixed{"message.max.bytes", "", "it follows from the limit of a record"},
    Fixed{"queued.max.messages.kbytes", "", "it follows from fetch_bytes"},
    Fixed{"bootstrap.servers", "", "kafka.servers sets it"},
    Fixed{"metadata.broker.list", "", "kafka.servers sets it"},
    Fixed{"client.id", "", "it is the node's id"},
    Fixed{"group.id", "", kMembers},
    Fixed{"group.instance.id", "", kMembers},
    Fixed{"partition.assignment.strategy", "range", kMembers},
    Fixed{"session.timeout.ms", "", kMembers},
    Fixed{"heartbeat.interval.ms", "", kMembers},
    Fixed{"max.poll.interval.ms", "", kMembers},
    Fixed{"auto.offset.reset", "", kOffsets},
    Fixed{"enable.auto.commit", "false", kOffsets},
    Fixed{"auto.commit.enable", "false", kOffsets},
    Fixed{"enable.auto.offset.store", "false", kOffsets},
    Fixed{"enable.partition.eof", "true", kOffsets},
    Fixed{"log_level", "", "Beckon's own log level decides"},
    Fixed{"log.queue", "", "Beckon's own log takes the lines"},
    Fixed{"enabled_events", "", "Beckon sets the callbacks that it serves"},
    Fixed{"allow.auto.create.topics", "false", "only `beckon topics create` makes log topics"},
};

/// Null if it is the user's.
const Fixed* find_fixed(std::string_view name) {
    const auto* const found = std::find_if(kFixed.begin(), kFixed.end(),
                                           [&](const Fixed& fixed) { return fixed.name == name; });
    return found == kFixed.end() ? nullptr : found;
}

[[noreturn]] void refuse(const Fixed& fixed, const std::string& value) {
    std::string message = "the librdkafka option '" + std::string{fixed.name} + "' cannot be '" +
                          value + "': " + std::string{fixed.why};
    if (!fixed.value.empty()) message += " (it is always '" + std::string{fixed.value} + "')";
    throw core::SetupError(message);
}

/// While an object of this class exists, the threads that this thread starts inherit a timer slack
/// of kSlackNs, and so do their own threads. librdkafka's main thread waits for its timers in whole
/// milliseconds and spins through the rest of the last one: half of the CPU time of an idle client
/// (docs/facts/kafka.md#what-an-idle-client-costs). With the slack the timer is late, so nothing is
/// left to spin through. Signals and sockets wake a thread as quickly as before.
class LateTimers {
public:
    LateTimers() : before_(::prctl(PR_GET_TIMERSLACK)) { set(kSlackNs); }
    ~LateTimers() {
        if (before_ > 0) set(static_cast<unsigned long>(before_));
    }
    LateTimers(const LateTimers&) = delete;
    LateTimers& operator=(const LateTimers&) = delete;

private:
    static constexpr unsigned long kSlackNs = 20'000'000;
    static void set(unsigned long ns) { ::prctl(PR_SET_TIMERSLACK, ns); }

    const int before_;
};

/// The value is in no message of ours: it may be a password whose option has a spelling mistake.
/// librdkafka's reason has it where only some values are allowed.
void set(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
    std::array<char, 512> why{};
    switch (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why.data(), why.size())) {
        case RD_KAFKA_CONF_OK: return;
        case RD_KAFKA_CONF_UNKNOWN:
            throw core::SetupError("kafka.librdkafka." + name + ": librdkafka " +
                                   rd_kafka_version_str() + " has no option of this name");
        case RD_KAFKA_CONF_INVALID: break;
    }
    throw core::SetupError("kafka.librdkafka." + name + ": " + why.data());
}

std::optional<double> number_of(std::string_view text) {
    double number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

/// librdkafka reads a number from the front of the text and passes over the rest: 2 of "2 GiB", 1
/// of "1e+06". Where it holds a number now, the user has to have written that number.
void check_number(const rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
    std::array<char, 64> text{};  // of any number
    std::size_t size = text.size();
    if (rd_kafka_conf_get(conf, name.c_str(), text.data(), &size) != RD_KAFKA_CONF_OK) return;
    const std::string read = text.data();
    const auto number = number_of(read);
    if (size > text.size() || !number || read == value || number_of(value) == number) return;
    throw core::SetupError("kafka.librdkafka." + name + " is '" + value +
                           "', which librdkafka would read as " + read +
                           ": give a number without unit, point or exponent");
}

/// librdkafka says of a file that it cannot use only that OpenSSL failed.
void check_files(const std::map<std::string, std::string>& options) {
    constexpr std::array kFiles = {"ssl.ca.location", "ssl.certificate.location",
                                   "ssl.key.location", "ssl.keystore.location"};
    for (const char* name : kFiles) {
        const auto found = options.find(name);
        if (found == options.end() || found->second.empty() || found->second == "probe") continue;
        if (::access(found->second.c_str(), R_OK) == 0) continue;
        throw core::SetupError("kafka.librdkafka: " + std::string{name} + ": cannot read " +
                               found->second + ": " + std::generic_category().message(errno));
    }
    const bool certificate =
        options.contains("ssl.certificate.location") || options.contains("ssl.certificate.pem");
    const bool key = options.contains("ssl.key.location") || options.contains("ssl.key.pem");
    if (certificate == key) return;
    throw core::SetupError(std::string{"kafka.librdkafka: "} +
                           (key ? "ssl.key.location is set, and ssl.certificate.location is not"
                                : "ssl.certificate.location is set, and ssl.key.location is not"));
}

/// The living clients of the process. Never destroyed: a client may end after it.
struct Living {
    std::mutex mutex;
    std::set<rd_kafka_t*> clients;    ///< under mutex, as the next
    std::optional<KafkaLogin> login;  ///< of use_kafka_login()
};
Living& living() {
    static auto* const all = new Living;
    return *all;
}

void set_login(rd_kafka_t* client, const KafkaLogin& login) {
    const ErrorHandle error{
        rd_kafka_sasl_set_credentials(client, login.username.c_str(), login.password.c_str())};
    if (!error) return;
    core::log_warn("log", "login_not_used", {{"why", rd_kafka_error_string(error.get())}});
}

/// The options as they are now, with the content of the files that hold some of them. One that
/// cannot be read leaves the value that was read before.
std::map<std::string, std::string> options_now(const KafkaConfig& config) {
    auto options = config.librdkafka;
    for (const auto& [name, file] : config.librdkafka_files) {
        if (auto text = read_option_file(file)) options[name] = std::move(*text);
    }
    return options;
}

}  // namespace

void forget_client(rd_kafka_t* client) noexcept {
    const std::scoped_lock lock{living().mutex};
    living().clients.erase(client);
}

ConfHandle make_conf(const KafkaConfig& config, KafkaEvents& events,
                     const ClientSettings& settings) {
    check_files(config.librdkafka);
    ConfHandle conf{rd_kafka_conf_new()};
    rd_kafka_conf_set_opaque(conf.get(), &events);
    rd_kafka_conf_set_log_cb(conf.get(), KafkaEvents::log_callback);
    const std::initializer_list<Setting> common = {
        {"bootstrap.servers", config.bootstrap_servers},
        {"client.id", config.client_id.empty() ? "beckon" : config.client_id},
        {"log.connection.close", "true"},  // KafkaEvents chooses those that are a fault
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
        // A producer's default is true: a topic that it asks for is made by a broker with Kafka's
        // default, without a setting that a promise rests on.
        {"allow.auto.create.topics", "false"},
    };
    for (const auto& [name, value] : common) set(conf.get(), name, value);
    for (const auto& [name, value] : settings.defaults) set(conf.get(), name, value);
    for (const auto& [name, value] : options_now(config)) {
        const auto* const fixed = find_fixed(name);
        if (fixed && (fixed->value.empty() || fixed->value != value)) refuse(*fixed, value);
        if (fixed) continue;
        set(conf.get(), name, value);
        check_number(conf.get(), name, value);
    }
    for (const auto& [name, value] : settings.required) {
        const auto* const fixed = find_fixed(name);
        BECKON_ASSERT(fixed && (fixed->value.empty() || fixed->value == value),
                      "a required option of the user is refused, not overridden");
        set(conf.get(), name, value);
    }
    return conf;
}

ClientHandle make_client(rd_kafka_type_t type, ConfHandle conf) {
    std::array<char, 512> why{};
    const LateTimers late;
    ClientHandle client{rd_kafka_new(type, conf.get(), why.data(), why.size())};
    if (!client) {  // conf is still ours and is freed here
        // Options that do not fit together, or a file that one names.
        if (rd_kafka_last_error() == RD_KAFKA_RESP_ERR__INVALID_ARG) {
            auto text = std::string{"kafka.librdkafka: "} + why.data();
            if (text.find("ssl.key.location failed") != std::string::npos) {
                text += "; is ssl.key.password the password of this key, if it has one?";
            }
            throw core::SetupError(text);
        }
        throw std::runtime_error(why.data());
    }
    static_cast<void>(conf.release());  // librdkafka owns it from now on
    const std::scoped_lock lock{living().mutex};
    living().clients.insert(client.get());
    if (living().login) set_login(client.get(), *living().login);
    return client;
}

core::Result<ClientHandle> make_group_client(const KafkaConfig& config, KafkaEvents& events,
                                             const std::string& group) {
    try {
        auto client = make_client(RD_KAFKA_CONSUMER,
                                  make_conf(config, events,
                                            {.required = {{"group.id", group},
                                                          {"enable.auto.commit", "false"},
                                                          {"enable.auto.offset.store", "false"}}}));
        rd_kafka_poll_set_consumer(client.get());
        return client;
    } catch (const std::runtime_error& error) {
        return core::fail(core::Fault::unavailable, error.what());
    }
}

}  // namespace beckon::log::kafka

namespace beckon::log {

core::Result<std::string> read_option_file(const std::string& file) {
    std::ifstream in{file};
    if (std::filesystem::is_directory(file) || !in) {
        return core::fail(core::Fault::not_found, "cannot read " + file);
    }
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    return text;
}

core::Result<KafkaLogin> read_kafka_login(const KafkaConfig& config) {
    KafkaLogin login;
    for (const auto& [name, target] : {std::pair{"sasl.username", &login.username},
                                       std::pair{"sasl.password", &login.password}}) {
        const auto value = config.librdkafka.find(name);
        if (value != config.librdkafka.end()) *target = value->second;
        const auto file = config.librdkafka_files.find(name);
        if (file == config.librdkafka_files.end()) continue;
        auto read = read_option_file(file->second);
        if (!read) return core::fail(read.error());
        *target = std::move(*read);
    }
    return login;
}

void use_kafka_login(const KafkaLogin& login) {
    auto& living = kafka::living();
    const std::scoped_lock lock{living.mutex};
    living.login = login;
    for (auto* client : living.clients) kafka::set_login(client, login);
}

void check_kafka_options(const KafkaConfig& config) {
    auto nowhere = config;
    nowhere.bootstrap_servers.clear();
    kafka::KafkaEvents events{""};
    // Its reason for a file is a line of level 3; what an option means is said by the real clients.
    kafka::make_client(RD_KAFKA_PRODUCER,
                       kafka::make_conf(nowhere, events, {.required = {{"log_level", "3"}}}));
}

}  // namespace beckon::log
