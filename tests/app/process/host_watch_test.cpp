#include "app/process/certificates.hpp"
#include "app/process/housekeeping.hpp"
#include "core/logger.hpp"
#include "net/self_signed.hpp"
#include "support/captured_output.hpp"
#include "support/certificate.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using app::HostWatch;

namespace {

/// What is logged while `act` runs.
template <class Act>
std::string logged(const Act& act) {
    test::CapturedStream output{stderr, STDERR_FILENO};
    core::configure_logging(core::LogLevel::info, core::LogFormat::json);
    act();
    core::configure_logging(core::LogLevel::error, core::LogFormat::text);
    return output.finish();
}

}  // namespace

TEST_CASE("a disk that fills is logged once each way") {
    const test::ManualClock clock;
    HostWatch watch{clock, "data", {}};
    const auto at = [&](double free) { return logged([&] { watch.disk(free, 100e9); }); };
    CHECK(at(50e9).empty());
    CHECK_THAT(at(3e9), Catch::Contains("disk_filling"));
    CHECK(at(2e9).empty());
    CHECK(at(1e6).empty());
    CHECK_THAT(at(50e9), Catch::Contains("disk_no_longer_filling"));
    CHECK(at(50e9).empty());
    CHECK_THAT(at(1e6), Catch::Contains("disk_filling"));
}

TEST_CASE("a certificate that ends soon is logged once a day") {
    const test::TempDir directory;
    const auto file = directory.path() / "certificate.pem";
    test::write_certificate(file, directory.path() / "key.pem", "push.example.org");
    const auto facts = net::read_certificate(file);
    REQUIRE(facts);
    test::ManualClock clock;
    const auto ends = std::chrono::floor<std::chrono::milliseconds>(facts->expires);
    clock.step_wall(ends - 15 * 24h - clock.wall());
    HostWatch watch{clock, "data", {}};
    const auto look = [&] { return logged([&] { watch.certificate({"edge", file, {}}); }); };
    CHECK(look().empty());
    clock.advance(36h);
    CHECK_THAT(look(), Catch::Contains("certificate_ends") && Catch::Contains("days_left\":13"));
    CHECK(look().empty());
    clock.advance(23h);
    CHECK(look().empty());
    clock.advance(1h);
    CHECK_THAT(look(), Catch::Contains("days_left\":12"));
    watch.certificate({"edge", directory.path() / "none.pem", {}});
}

TEST_CASE("the certificate for Kafka is that of the start, of a port the one on the disk",
          "[app]") {
    const test::TempDir directory;
    const auto file = directory.path() / "certificate.pem";
    test::write_certificate(file, directory.path() / "key.pem", "push.example.org");
    app::Config config;
    config.edge.tls_certificate = file;
    config.kafka.librdkafka["ssl.certificate.location"] = file.string();
    const auto found = app::certificates_of("edge", config);
    REQUIRE(found.size() == 2);
    CHECK(app::expiry_of(found.back()) == app::expiry_of(found.front()));
    std::filesystem::remove(file);
    CHECK_FALSE(app::expiry_of(found.front()));
    CHECK(app::expiry_of(found.back()));
}
