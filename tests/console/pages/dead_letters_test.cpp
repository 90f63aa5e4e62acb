#include "console/pages/dead_letters.hpp"

#include "core/ascii.hpp"
#include "retry/api/owner_token.hpp"

#include <memory>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>
#include <httplib.h>
#include <nlohmann/json.hpp>

using namespace beckon;
using nlohmann::json;

namespace {

/// A process with the role retry that answers as it is told, and keeps what it was asked.
class FakeRetry {
public:
    explicit FakeRetry(const core::KeyRing& keys) : keys_(keys) {
        server_.Get(".*", [this](const auto& request, auto& reply) { take(request, reply); });
        server_.Post(".*", [this](const auto& request, auto& reply) { take(request, reply); });
        port_ = server_.bind_to_any_port("127.0.0.1");
        thread_ = std::thread{[this] { server_.listen_after_bind(); }};
        while (!server_.is_running()) std::this_thread::yield();
    }
    ~FakeRetry() {
        server_.stop();
        thread_.join();
    }

    std::string origin() const { return "http://127.0.0.1:" + std::to_string(port_); }

    struct Asked {
        std::string target;
        std::string body;
        retry::Caller caller;
    };
    std::vector<Asked> asked() const {
        const std::scoped_lock lock{mutex_};
        return asked_;
    }
    void answer(int status, const json& body) {
        const std::scoped_lock lock{mutex_};
        status_ = status;
        body_ = body.dump();
    }

private:
    void take(const httplib::Request& request, httplib::Response& reply) {
        const std::scoped_lock lock{mutex_};
        const auto header = request.get_header_value("Authorization");
        const auto caller = retry::check_token(keys_, *core::bearer_token(header));
        asked_.push_back({request.target, request.body, caller.value_or(retry::Caller{})});
        reply.status = status_;
        reply.set_content(body_, "application/json");
    }

    const core::KeyRing& keys_;
    mutable std::mutex mutex_;
    std::vector<Asked> asked_;
    int status_ = 200;
    std::string body_ = "{}";
    httplib::Server server_;
    int port_ = 0;
    std::thread thread_;
};

struct World {
    std::shared_ptr<const core::KeyRing> keys =
        std::make_shared<const core::KeyRing>(core::KeyRing::generate());
    FakeRetry retry{*keys};
    console::RetryApi api{{.origins = {"http://127.0.0.1:1", retry.origin()}}, keys};
    console::DeadLetters dead{api};
};

}  // namespace

TEST_CASE("the dead letters are listed by a process with the role retry, as for an operator") {
    World world;
    const json page{{"letters", {{{"delivery", "a"}}}}, {"next", nullptr}, {"passed_over", 0}};
    world.retry.answer(200, page);
    const auto answer = world.dead.list({{"type", "order.*"}, {"limit", "100"}});
    CHECK(answer.status == 200);
    CHECK(json::parse(answer.json) == page);
    REQUIRE(world.retry.asked().size() == 1);
    CHECK(world.retry.asked()[0].target == "/dead?limit=100&type=order.%2A");
    CHECK(world.retry.asked()[0].caller == retry::operator_caller());
}

TEST_CASE("a fault of the filter is the API's, and its own words tell it") {
    World world;
    world.retry.answer(400, {{"code", "invalid"}, {"detail", "the parameter colour is unknown"}});
    const auto answer = world.dead.list({{"colour", "red"}});
    CHECK(answer.status == 400);
    CHECK(json::parse(answer.json) == json{{"error", "the parameter colour is unknown"}});
    CHECK(world.dead.plan(R"({"colour": "red"})").answer.status == 400);
}

TEST_CASE("a plan is a dry run, and its order is confirmed as it was checked") {
    World world;
    world.retry.answer(200, {{"matched", 3},
                             {"disabled", 1},
                             {"would_settle", 2},
                             {"sample", {{{"delivery", "a"}}}},
                             {"before", "2026-11-20T08:30:00.001Z"}});
    const auto plan = world.dead.plan(R"({"webhook": "w"})");
    REQUIRE(plan.answer.status == 200);
    const auto said = json::parse(plan.answer.json);
    CHECK(said["matched"] == 3);
    CHECK(said["disabled"] == 1);
    CHECK(said["would_settle"] == 2);
    CHECK(said["sample"].size() == 1);
    auto checked = json::parse(world.retry.asked().at(0).body);
    CHECK(checked == json{{"webhook", "w"}, {"dry_run", true}});

    world.retry.answer(
        200, {{"matched", 3}, {"disabled", 1}, {"settled", 1}, {"gone", 0}, {"failed", 1}});
    REQUIRE(plan.order);
    const auto done = world.dead.redrive(*plan.order, "127.0.0.1");
    CHECK(done.status == 200);
    CHECK(json::parse(done.json) == json{{"settled", 1}, {"gone", 0}, {"failed", 1}, {"left", 1}});
    CHECK(world.retry.asked().at(1).target == "/dead/redrive");
    checked["dry_run"] = false;
    checked["before"] = "2026-11-20T08:30:00.001Z";  // by the log's time: no later letter is in it
    CHECK(json::parse(world.retry.asked().at(1).body) == checked);
}

TEST_CASE("a plan without letters, or of no object, has nothing to confirm") {
    World world;
    world.retry.answer(
        200, {{"matched", 1}, {"disabled", 1}, {"would_settle", 0}, {"sample", json::array()}});
    CHECK_FALSE(world.dead.plan("{}").order);
    for (const auto* bad : {"[]", "{"}) {
        CAPTURE(bad);
        CHECK(world.dead.plan(bad).answer.status == 400);
    }
}

TEST_CASE("a process that still reads its dead letters redrives nothing, and is named") {
    World world;
    world.retry.answer(
        503, {{"code", "not_ready"}, {"detail", "the dead letters are still being read"}});
    const auto answer = world.dead.redrive(R"({"dry_run":false})", "127.0.0.1");
    CHECK(answer.status == 503);
    CHECK_THAT(answer.json, Catch::Contains(world.retry.origin()));
}

TEST_CASE("without a process to ask, the page says which setting names one") {
    const console::RetryApi nobody{{}, nullptr};
    const auto answer = console::DeadLetters{nobody}.list({});
    CHECK(answer.status == 503);
    CHECK_THAT(answer.json, Catch::Contains("console.retry_urls"));
}
