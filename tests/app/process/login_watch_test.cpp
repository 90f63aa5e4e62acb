#include "app/process/housekeeping.hpp"
#include "core/logger.hpp"
#include "support/captured_output.hpp"
#include "support/temp_dir.hpp"

#include <fstream>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using app::LoginWatch;

namespace {

/// What is logged while the files are read again, as at SIGHUP.
std::string logged(LoginWatch& watch) {
    test::CapturedStream output{stderr, STDERR_FILENO};
    core::configure_logging(core::LogLevel::info, core::LogFormat::json);
    watch.reread();
    watch.look();
    core::configure_logging(core::LogLevel::error, core::LogFormat::text);
    return output.finish();
}

void write(const std::string& file, const std::string& text) { std::ofstream{file} << text; }

}  // namespace

TEST_CASE("a login at Kafka that changes in its file is renewed, once") {
    const test::TempDir directory;
    const auto file = (directory / "password").string();
    write(file, "one\n");
    log::KafkaConfig config;
    config.librdkafka["sasl.username"] = "beckon";
    config.librdkafka_files["sasl.password"] = file;
    ops::Health health;
    LoginWatch watch{config, health};
    CHECK(logged(watch).empty());
    write(file, "two\n");
    const auto line = logged(watch);
    CHECK_THAT(line, Catch::Contains("kafka_login_renewed"));
    CHECK_THAT(line, !Catch::Contains("two"));
    CHECK(logged(watch).empty());
    std::filesystem::remove(file);
    CHECK_THAT(logged(watch), Catch::Contains("kafka_login_not_read"));
    CHECK(logged(watch).empty());
}

TEST_CASE("a certificate for Kafka that changes on the disk asks for a restart") {
    const test::TempDir directory;
    const auto file = (directory / "certificate.pem").string();
    write(file, "the first one");
    log::KafkaConfig config;
    config.librdkafka["ssl.certificate.location"] = file;
    ops::Health health;
    LoginWatch watch{config, health};
    const auto warned = [&] {
        watch.reread();
        watch.look();
        return health.report().warnings.contains("kafka_certificate");
    };
    CHECK_FALSE(warned());
    write(file, "the second one");
    CHECK(warned());
    write(file, "the first one");
    CHECK_FALSE(warned());
}
