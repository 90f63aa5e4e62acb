// Requests of the ops port of this host: each is answered once, nobody who names another host sees
// anything, and parts of the process get paths and queries that are decoded once.
#include "fuzz/conversation.hpp"
#include "net/http/caller.hpp"
#include "ops/ops_handler.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace beckon;
using namespace beckon::ops;
using test::require;

namespace {

constexpr net::RequestLimits kLimits{.header_bytes_max = 1'024, .body_bytes_max = 0};

struct World {
    World()
        : handler({.host = "127.0.0.1", .port = 0, .version = "1"}, metrics, health, mounts, loop) {
        health.set_ready("edge", false, "no broker");
        mounts.add("/part", [this](std::string_view path, const Query& query) {
            require(path.starts_with('/') && !query.contains(""));
            ++asked;
            return Page{.type = "text/plain", .body = std::string{path}};
        });
        mounts.add_late("/late", [this](LateRequest request, const PageDone& done) {
            require(request.path.starts_with('/') && !request.query.contains(""));
            ++asked;
            done({.body = request.path + request.authorization});
        });
    }

    Metrics metrics;
    Health health;
    Mounts mounts;
    test::QueueExecutor loop;
    int asked = 0;
    OpsHandler handler;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static World world;
    int before = world.asked;
    test::converse(world.handler, world.loop, kLimits, {reinterpret_cast<const char*>(data), size},
                   [&](const net::HttpRequest& request, const net::HttpReply& reply) {
                       // (HTTP/1.0 may name none: such a caller is no browser)
                       const bool local =
                           request.authority.empty() || net::names_this_host(request.authority);
                       require(local || reply.status == 421);
                       require(local || world.asked == before);
                       require(reply.status < 500 || reply.status == 503);
                       before = world.asked;
                   });
    return 0;
}
