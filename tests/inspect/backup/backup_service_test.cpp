#include "inspect/backup/backup_service.hpp"

#include "inspect/log/log_service.hpp"
#include "support/temp_dir.hpp"
#include "tools/running/ops_client.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using nlohmann::json;

namespace {

/// A process with an embedded log, and its ops port.
struct Running {
    tools::OpsConnection::Raw ask(const std::string& target, const std::string& bearer) const {
        const auto reply =
            tools::OpsConnection{{.port = server.port(), .version = {}}, bearer}.get(target);
        REQUIRE(reply);
        return *reply;
    }
    std::string state() const {
        const auto page = ask("/backup/state", inspect::log_proof(keys.newest()));
        return json::parse(page.body)["state"].get<std::string>();
    }

    test::TempDir directory;
    core::SystemClock clock;
    std::unique_ptr<log::EmbeddedLog> log =
        log::open_embedded_log({.directory = directory / "log", .partitions = 1, .clock = &clock});
    const core::KeyRing keys = core::KeyRing::generate();
    ops::Metrics metrics;
    ops::Health health;
    ops::OpsServer server{{.port = 0, .version = "1"}, metrics, health};
    ops::Mount service = inspect::mount_backup_service(server, *log, directory.path(), keys);
};

}  // namespace

TEST_CASE("the log is copied only for a caller with the key ring") {
    Running running;
    const auto other = core::KeyRing::generate();
    for (const auto& bearer :
         {std::string{}, std::string{"guess"}, inspect::log_proof(other.newest())}) {
        CAPTURE(bearer);
        for (const auto* target : {"/backup/start", "/backup/state"}) {
            const auto refused = running.ask(target, bearer);
            CHECK(refused.status == 401);
            CHECK_THAT(refused.body, Catch::Contains("key ring"));
            CHECK_THAT(refused.body, !Catch::Contains(running.directory.path().string()));
        }
    }
    CHECK_FALSE(std::filesystem::exists(inspect::snapshot_of(running.directory.path())));
    CHECK(running.state() == "none");
    CHECK(running.ask("/backup/start", inspect::log_proof(running.keys.newest())).status == 202);
    while (running.state() == "running") std::this_thread::yield();
    CHECK(running.state() == "done");
    CHECK(std::filesystem::exists(inspect::snapshot_of(running.directory.path()) / "CURRENT"));
}
