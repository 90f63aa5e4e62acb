// What becomes of librdkafka's lines: those that name the cause of a missing connection are logged
// and kept, those of a connection that ended in order are not.
#include "log/kafka/kafka_events.hpp"

#include "log/kafka/report.hpp"
#include "support/captured_output.hpp"

#include <string>
#include <string_view>

#include <catch2/catch.hpp>

using namespace beckon;
using Catch::Contains;
using log::kafka::KafkaEvents;

namespace {

constexpr int kError = 3;
constexpr int kInfo = 6;
constexpr std::string_view kWrongProtocol =
    "[thrd:kafka:9093/bootstrap]: kafka:9093/bootstrap: Disconnected while requesting ApiVersion: "
    "might be caused by incorrect security.protocol configuration (connecting to a SSL listener?)";

/// Returns what is logged.
template <class Act>
std::string logged(const Act& act) {
    test::CapturedOutput lines;
    act();
    return lines.finish();
}

}  // namespace

TEST_CASE("the cause of a missing connection is logged and kept, without librdkafka's thread") {
    KafkaEvents events{"kafka:9093"};
    const auto lines = logged([&] {
        events.line(kInfo, "FAIL", kWrongProtocol);
        events.line(kError, "ERROR", "[thrd:kafka:9093/bootstrap]: 1/1 brokers are down");
        events.error(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, "1/1 brokers are down");
    });
    CHECK_THAT(lines, Contains("no_broker") && Contains("connecting to a SSL listener?"));
    CHECK_THAT(lines, !Contains("[thrd") && !Contains("brokers are down"));
    CHECK_THAT(events.why_away(), Contains("security.protocol"));
    events.broker_answers();
    CHECK(events.why_away().empty());
}

TEST_CASE("a handshake of TLS that ends at once is one with a port without TLS") {
    KafkaEvents events{"kafka:9092"};
    constexpr std::string_view kEnded =
        "ssl://kafka:9092/bootstrap: SSL handshake failed: error:0A000126:SSL routines::unexpected "
        "eof while reading (after 12ms in state SSL_HANDSHAKE)";
    const auto lines = logged([&] {
        events.line(kError, "FAIL", kEnded);
        events.error(RD_KAFKA_RESP_ERR__SSL, kEnded);
    });
    CHECK_THAT(lines, Contains("is this a port without TLS (see security.protocol)?"));
    CHECK(lines.find('\n') == lines.size() - 1);  // one line
}

TEST_CASE("a broker's certificate that does not verify is one of another CA") {
    KafkaEvents events{"kafka:9093"};
    const auto lines = logged([&] {
        events.error(RD_KAFKA_RESP_ERR__SSL,
                     "sasl_ssl://kafka:9093/bootstrap: error:0A000086:SSL routines::certificate "
                     "verify failed (after 21ms in state SSL_HANDSHAKE)");
    });
    CHECK_THAT(lines, Contains("is ssl.ca.location the CA of the broker's certificate?"));
}

TEST_CASE("a mechanism that a broker does not have is a login that it refuses") {
    KafkaEvents events{"kafka:9093"};
    const auto lines = logged([&] {
        events.line(kError, "FAIL",
                    "sasl_ssl://kafka:9093/bootstrap: SASL SCRAM-SHA-256 mechanism handshake "
                    "failed: Broker: Unsupported SASL mechanism: broker's supported mechanisms: "
                    "PLAIN (after 3ms in state AUTH_HANDSHAKE)");
    });
    CHECK_THAT(lines, Contains("login_refused") && Contains("sasl.mechanism"));
    CHECK_THAT(events.login_refusal(), Contains("supported mechanisms: PLAIN"));
}

TEST_CASE("a broker that ends a connection is no fault") {
    KafkaEvents events{"kafka:9093"};
    const auto lines = logged([&] {
        constexpr std::string_view kClosed =
            "kafka:9093/1: Disconnected (after 600000ms in state UP)";
        events.line(kInfo, "FAIL", kClosed);
        events.line(kError, "FAIL", kClosed);
        events.error(RD_KAFKA_RESP_ERR__TRANSPORT, kClosed);
        events.line(kError, "ERROR",
                    "[thrd:app]: client#producer-1: kafka:9093/1: 1/1 brokers are down");
        events.error(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, "1/1 brokers are down");
        events.broker_answers();
    });
    CHECK(lines.find("broker_answers") == std::string::npos);
    CHECK(lines.find("no_broker") == std::string::npos);
    CHECK(events.why_away().empty());
}

TEST_CASE("a right that was refused is known, and no other one") {
    KafkaEvents events{"kafka:9093"};
    const auto refusal = [](std::string_view operation, const std::string& resource) {
        return log::kafka::refusal(operation, resource).message;
    };
    CHECK_FALSE(events.has_refused(refusal("Read", "the group beckon.edge")));
    events.refused(refusal("Read", "the group beckon.edge.members"));
    CHECK(events.has_refused(refusal("Read", "the group beckon.edge.members")));
    CHECK_FALSE(events.has_refused(refusal("Read", "the group beckon.edge")));
    CHECK_FALSE(events.has_refused(refusal("Write", "the group beckon.edge.members")));
}
