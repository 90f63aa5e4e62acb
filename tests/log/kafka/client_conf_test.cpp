// A user's options for librdkafka in the configuration of a client; no broker is needed.
#include "log/kafka/client_conf.hpp"

#include "core/setup_error.hpp"
#include "log/kafka/reader_clients.hpp"
#include "support/temp_dir.hpp"

#include <array>
#include <atomic>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include <catch2/catch.hpp>
#include <sys/prctl.h>

using namespace beckon;
using Catch::Contains;
using log::KafkaConfig;
using log::kafka::ClientSettings;

namespace {

const ClientSettings kSettings{
    .defaults = {{"linger.ms", "0"}},
    .required = {{"acks", "all"}, {"message.timeout.ms", "4000"}},
};

KafkaConfig with(const std::string& name, const std::string& value) {
    KafkaConfig config;
    config.bootstrap_servers = "127.0.0.1:1";
    config.librdkafka = {{name, value}};
    return config;
}

/// The value of `asked` for a client of kSettings when the user sets `name`.
std::string result(const char* asked, const std::string& name, const std::string& value) {
    log::kafka::KafkaEvents events{"127.0.0.1:1"};
    const auto conf = log::kafka::make_conf(with(name, value), events, kSettings);
    std::array<char, 256> text{};
    std::size_t size = text.size();
    if (rd_kafka_conf_get(conf.get(), asked, text.data(), &size) != RD_KAFKA_CONF_OK) return "?";
    return text.data();
}

std::string why_not(const std::string& name, const std::string& value) {
    try {
        log::open_kafka_log(with(name, value));
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "it opened";
}

/// The slack of the main thread's timers, in nanoseconds, once it has started.
std::atomic<int> main_slack{0};

rd_kafka_resp_err_t note_slack(rd_kafka_t*, rd_kafka_thread_type_t type, const char*, void*) {
    if (type == RD_KAFKA_THREAD_MAIN) main_slack = ::prctl(PR_GET_TIMERSLACK);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t note_threads(rd_kafka_t* client, const rd_kafka_conf_t*, void*, char*,
                                 std::size_t) {
    return rd_kafka_interceptor_add_on_thread_start(client, "slack", note_slack, nullptr);
}

}  // namespace

TEST_CASE("a client's timers may be late, and those of the thread that makes it may not") {
    log::kafka::KafkaEvents events{"127.0.0.1:1"};
    auto conf = log::kafka::make_conf(with("client.rack", "here"), events, {});
    rd_kafka_conf_interceptor_add_on_new(conf.get(), "slack", note_threads, nullptr);
    const int before = ::prctl(PR_GET_TIMERSLACK);
    const auto client = log::kafka::make_client(RD_KAFKA_PRODUCER, std::move(conf));
    CHECK(main_slack == 20'000'000);
    CHECK(::prctl(PR_GET_TIMERSLACK) == before);
}

TEST_CASE("a user's option wins over a default of ours") {
    CHECK(result("linger.ms", "client.rack", "here") == "0");
    CHECK(result("linger.ms", "linger.ms", "7") == "7");
    CHECK(result("linger.ms", "queue.buffering.max.ms", "7") == "7");  // its other name
    CHECK(result("socket.timeout.ms", "socket.timeout.ms", "9000") == "9000");
    CHECK(result("socket.timeout.ms", "client.rack", "here") == "5000");
}

TEST_CASE("a required option stays, whether or not the user sets it too") {
    CHECK(result("acks", "client.rack", "here") == "-1");
    CHECK(result("acks", "acks", "all") == "-1");
    CHECK(result("message.timeout.ms", "client.rack", "here") == "4000");
}

TEST_CASE("an option that would break a promise is refused with its value and why") {
    CHECK(why_not("acks", "1") ==
          "the librdkafka option 'acks' cannot be '1': a 201 is a promise that Beckon alone must "
          "keep (it is always 'all')");
    CHECK(why_not("message.timeout.ms", "1000") ==
          "the librdkafka option 'message.timeout.ms' cannot be '1000': it follows from "
          "publish_timeout");
    for (const auto* name :
         {"request.required.acks", "enable.idempotence", "max.in.flight",
          "max.in.flight.requests.per.connection", "retries", "delivery.timeout.ms",
          "enable.auto.commit", "group.id", "heartbeat.interval.ms", "session.timeout.ms",
          "partition.assignment.strategy", "auto.offset.reset", "queued.max.messages.kbytes"}) {
        CHECK_THAT(why_not(name, "5"), Contains(std::string{"'"} + name + "' cannot be '5': "));
    }
}

TEST_CASE("an option that librdkafka does not take is refused with its reason") {
    CHECK_THAT(why_not("linger.msec", "5"), Contains("linger.msec"));
    CHECK_THAT(why_not("linger.ms", "soon"), Contains("linger.ms"));
}

TEST_CASE("an option whose number librdkafka would read otherwise is refused") {
    CHECK(why_not("fetch.min.bytes", "2 GiB") ==
          "kafka.librdkafka.fetch.min.bytes is '2 GiB', which librdkafka would read as 2: give a "
          "number without unit, point or exponent");
    for (const auto* value :
         {"1e3", "2.5", "100000abc", "1e+06", "0x10", "010", "1,000", "7 ", "4294967297"}) {
        CHECK_THAT(why_not("queue.buffering.max.kbytes", value),
                   Contains("kafka.librdkafka.queue.buffering.max.kbytes is '"));
    }
    CHECK_THAT(why_not("request.timeout.ms", "5s"), Contains("would read as 5"));  // of a topic
    CHECK_THAT(why_not("linger.ms", "2ms"), Contains("would read as 2"));          // has a fraction
    CHECK(why_not("linger.ms", "2.5") == "it opened");
    for (const auto& [name, value] :
         std::map<std::string, std::string>{{"queue.buffering.max.kbytes", "1048576"},
                                            {"client.rack", "007"},
                                            {"socket.keepalive.enable", "1"},
                                            {"compression.codec", "ZSTD"},
                                            {"debug", "broker,topic"}}) {
        CHECK(why_not(name, value) == "it opened");
    }
}

TEST_CASE("nothing that asks for a topic makes it") {
    CHECK(result("allow.auto.create.topics", "client.rack", "here") == "false");
    CHECK(result("allow.auto.create.topics", "allow.auto.create.topics", "false") == "false");
    CHECK_THAT(why_not("allow.auto.create.topics", "true"), Contains("beckon topics create"));
}

TEST_CASE("options that cannot work end a start, before a broker is asked, without a password") {
    const auto why = [](std::map<std::string, std::string> options) {
        log::KafkaConfig config;
        config.bootstrap_servers = "127.0.0.1:1";
        config.librdkafka = std::move(options);
        try {
            log::check_kafka_options(config);
        } catch (const core::SetupError& error) {
            return std::string{error.what()};
        }
        return std::string{};
    };
    CHECK(why({{"client.rack", "here"}}).empty());
    CHECK_THAT(why({{"sasl.pasword", "hunter2"}}),
               Contains("kafka.librdkafka.sasl.pasword: librdkafka") && !Contains("hunter2"));
    CHECK_THAT(why({{"security.protocol", "SASL_SLL"}}),
               Contains("kafka.librdkafka.security.protocol: ") && Contains("SASL_SLL"));
    CHECK_THAT(why({{"security.protocol", "SASL_SSL"},
                    {"sasl.mechanism", "SCRAM-SHA-512"},
                    {"sasl.username", "u"}}),
               Contains("kafka.librdkafka: ") && Contains("sasl.password"));
    CHECK_THAT(why({{"security.protocol", "SSL"}, {"ssl.ca.location", "/does/not/exist.pem"}}),
               Contains("kafka.librdkafka: ssl.ca.location"));
    CHECK_THAT(why({{"acks", "1"}}), Contains("cannot be '1'"));
}

TEST_CASE("a log opens with options that are the user's") {
    CHECK(why_not("linger.ms", "5") == "it opened");
    CHECK(why_not("fetch.wait.max.ms", "200") == "it opened");
    CHECK(why_not("queue.buffering.max.messages", "1000") == "it opened");
    CHECK(why_not("enable.idempotence", "true") == "it opened");
    CHECK(why_not("max.in.flight", "1") == "it opened");
}

TEST_CASE("the prefetch of all partitions together does not grow with their number") {
    log::KafkaConfig config;
    config.fetch_bytes = 64U << 20;
    config.partitions_read = 64;
    std::size_t bytes = 0;
    std::size_t partitions = 0;
    for (std::size_t client = 0; partitions < 4'000; ++client) {
        const auto prefetch = log::kafka::prefetch_of(client, config);
        CHECK(prefetch.bytes_each >= 1024);
        partitions += prefetch.partitions;
        bytes += prefetch.partitions * prefetch.bytes_each * log::kafka::kReaderKinds;
        CHECK(bytes <= config.fetch_bytes);
    }
    CHECK(log::kafka::prefetch_of(0, config).bytes_each == 256U << 10);
}

TEST_CASE("no fetch for messages names partitions of another topic") {
    using log::kafka::kind_of;
    using log::kafka::ReaderKind;
    for (int index = 0; index < log::Topic::kCount; ++index) {
        const auto topic = log::Topic::from_index(index);
        const bool messages = topic == log::Topic::kNotifications;
        CHECK(kind_of(topic) == (messages ? ReaderKind::messages : ReaderKind::other));
    }
}

TEST_CASE("files of TLS that cannot be read are named with the reason") {
    for (const std::string name :
         {"ssl.ca.location", "ssl.key.location", "ssl.certificate.location"}) {
        CHECK(why_not(name, "/does/not/exist.pem") ==
              "kafka.librdkafka: " + name +
                  ": cannot read /does/not/exist.pem: No such file or directory");
    }
}

TEST_CASE("a certificate without its key, and a key without its certificate, are refused") {
    CHECK_THAT(why_not("ssl.certificate.location", "/dev/null"),
               Contains("ssl.key.location is not"));
    CHECK_THAT(why_not("ssl.key.location", "/dev/null"),
               Contains("ssl.certificate.location is not"));
}

TEST_CASE("each client is made with what the file of an option holds then") {
    const test::TempDir directory;
    const auto file = (directory / "rack").string();
    auto config = with("client.rack", "as it was at the start");
    config.librdkafka_files["client.rack"] = file;
    const auto rack = [&] {
        log::kafka::KafkaEvents events{"127.0.0.1:1"};
        const auto conf = log::kafka::make_conf(config, events, {});
        std::array<char, 256> text{};
        std::size_t size = text.size();
        REQUIRE(rd_kafka_conf_get(conf.get(), "client.rack", text.data(), &size) ==
                RD_KAFKA_CONF_OK);
        return std::string{text.data()};
    };
    CHECK(rack() == "as it was at the start");  // the file is not there
    std::ofstream{file} << "a\n";
    CHECK(rack() == "a");
    std::ofstream{file} << "b\n";
    CHECK(rack() == "b");
}

TEST_CASE("a login is read from options and files, and given to clients that live") {
    const test::TempDir directory;
    const auto file = (directory / "password").string();
    auto config = with("sasl.username", "beckon");
    config.librdkafka["sasl.mechanism"] = "PLAIN";
    config.librdkafka["sasl.password"] = "one";
    CHECK(log::read_kafka_login(config)->password == "one");
    config.librdkafka_files["sasl.password"] = file;
    CHECK_FALSE(log::read_kafka_login(config));  // the file is not there
    std::ofstream{file} << "two\r\n";
    CHECK(*log::read_kafka_login(config) ==
          log::KafkaLogin{.username = "beckon", .password = "two"});
    log::kafka::KafkaEvents events{"127.0.0.1:1"};
    auto client =
        log::kafka::make_client(RD_KAFKA_PRODUCER, log::kafka::make_conf(config, events, {}));
    log::use_kafka_login({.username = "beckon", .password = "three"});
    client.reset();
    log::use_kafka_login({.username = "beckon", .password = "four"});  // it is gone
}
