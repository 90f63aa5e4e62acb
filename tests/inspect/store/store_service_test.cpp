#include "inspect/store/store_service.hpp"

#include "inspect/log/log_service.hpp"
#include "store/edge_store.hpp"
#include "support/temp_dir.hpp"
#include "tools/running/ops_client.hpp"

#include <filesystem>
#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using nlohmann::json;

namespace {

std::unique_ptr<store::EdgeStore> opened(const std::filesystem::path& directory) {
    auto store = store::EdgeStore::open({.directory = directory,
                                         .log_id = "log",
                                         .cache_bytes = 1U << 20,
                                         .write_buffer_bytes = 1U << 20,
                                         .memory = nullptr});
    REQUIRE(store);
    return std::move(*store);
}

/// A process with an edge's store, and its ops port.
struct Running {
    tools::OpsConnection::Raw copy(const std::string& bearer) const {
        const auto reply =
            tools::OpsConnection{{.port = server.port(), .version = {}}, bearer}.get("/store/copy");
        REQUIRE(reply);
        return *reply;
    }
    tools::OpsConnection::Raw copy() const { return copy(inspect::log_proof(keys.newest())); }

    test::TempDir directory;
    std::unique_ptr<store::EdgeStore> store = opened(directory / "edge");
    const core::KeyRing keys = core::KeyRing::generate();
    ops::Metrics metrics;
    ops::Health health;
    ops::OpsServer server{{.port = 0, .version = "1"}, metrics, health};
    ops::Mount service = inspect::mount_store_service(server, directory.path(), keys);
};

}  // namespace

TEST_CASE("copies of the store beyond the bound are refused until one is removed") {
    Running running;
    std::filesystem::path last;
    for (std::size_t i = 0; i < inspect::kStoreCopiesMax; ++i) {
        const auto made = running.copy();
        REQUIRE(made.status == 200);
        last = json::parse(made.body)["directory"].get<std::string>();
        CHECK(std::filesystem::exists(last / "CURRENT"));
    }
    const auto refused = running.copy();
    CHECK(refused.status == 409);
    CHECK_THAT(refused.body, Catch::Contains(inspect::store_copies_of(running.directory.path())));
    std::filesystem::remove_all(last);
    CHECK(running.copy().status == 200);
    CHECK(running.copy().status == 409);
}

TEST_CASE("the store is copied only for a caller with the key ring") {
    Running running;
    CHECK(running.copy("").status == 401);
    CHECK(running.copy(inspect::log_proof(core::KeyRing::generate().newest())).status == 401);
    CHECK(running.copy().status == 200);
}
