#include "app/process/process_metrics.hpp"

#include "ops/health.hpp"
#include "support/certificate.hpp"
#include "support/temp_dir.hpp"
#include "support/test_socket.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <unistd.h>

using namespace beckon;

namespace {

/// The value of a series in Prometheus' text format; empty: it is not there.
std::string value_in(const std::string& text, const std::string& series) {
    const auto at = text.find('\n' + series + ' ');
    if (at == std::string::npos) return {};
    const auto from = at + series.size() + 2;
    return text.substr(from, text.find('\n', from) - from);
}

}  // namespace

// Otherwise the alert about descriptors is silent when none is left.
TEST_CASE("without a descriptor all are open, and what cannot be read keeps its value") {
    const test::TempDir directory;
    const auto file = directory.path() / "certificate.pem";
    test::write_certificate(file, directory.path() / "key.pem", "push.example.org");
    app::Config config;
    config.data = directory.path() / "data";
    config.edge.tls_certificate = file;
    std::filesystem::create_directories(config.data / "log");
    std::ofstream{config.data / "log" / "segment"} << std::string(5'000, 'x');

    ops::Metrics metrics;
    const ops::Health health;
    ops::OpsServer server{{.port = 0, .version = ""}, metrics, health};
    const auto mount = app::mount_process_metrics("edge", server, metrics, config);
    test::TestSocket scraper{server.port()};
    const auto scrape = [&] {
        scraper.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        return scraper.read_reply().body;
    };
    const auto before = scrape();

    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const int next = ::dup(STDERR_FILENO);  // the lowest that is free
    ::close(next);
    const rlimit none{.rlim_cur = static_cast<rlim_t>(next), .rlim_max = limit.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
    const auto after = scrape();
    ::setrlimit(RLIMIT_NOFILE, &limit);

    CHECK(value_in(before, "process_open_fds") != "0");
    CHECK(value_in(after, "process_open_fds") == std::to_string(next));
    CHECK(value_in(after, "process_max_fds") == std::to_string(next));
    for (const auto* series :
         {"process_threads", "process_resident_memory_bytes", R"(beckon_data_bytes{part="log"})",
          R"(beckon_certificate_expiry_time_seconds{certificate="edge"})"}) {
        INFO(series);
        CHECK(std::stod(value_in(before, series)) > 0);
        CHECK(value_in(after, series) == value_in(before, series));
    }
}
