#include "retry/attempt/name_lookups.hpp"

#include "net/io_loop.hpp"
#include "retry/attempt/http_sender.hpp"
#include "retry/attempt/scripted_server.hpp"
#include "retry/attempt/sending.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using retry::HttpAnswer;
using retry::NameLookups;
using End = retry::HttpAnswer::End;
using Peer = test::ScriptedServer::Peer;

namespace {

/// Name servers: those of names that begin with "hangs" answer once they are let go, the others
/// know 127.0.0.1, but of "unknown" nothing.
class NameServers {
public:
    ~NameServers() { let_go(); }
    /// Threads that look names up may outlive the test.
    NameLookups::LookUp look_up() {
        return [state = state_](const std::string& name) { return state->look_up(name); };
    }
    void let_go() {
        const std::scoped_lock lock{state_->mutex};
        state_->gone = true;
        state_->changed.notify_all();
    }
    void wait_for_hanging(std::size_t count) {
        std::unique_lock lock{state_->mutex};
        state_->changed.wait(lock, [&] { return state_->hanging >= count; });
    }
    std::size_t times_asked(const std::string& name) {
        const std::scoped_lock lock{state_->mutex};
        return state_->asked.count(name);
    }

private:
    struct State {
        NameLookups::Addresses look_up(const std::string& name) {
            std::unique_lock lock{mutex};
            asked.insert(name);
            if (name.starts_with("hangs") && !gone) {
                ++hanging;
                changed.notify_all();
                changed.wait(lock, [this] { return gone; });
            }
            if (name == "unknown") return {};
            return {"127.0.0.1"};
        }
        std::mutex mutex;
        std::condition_variable changed;
        std::multiset<std::string> asked;  ///< under the mutex, as are all
        std::size_t hanging = 0;
        bool gone = false;
    };
    const std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// A loop with lookups, used from the test's thread.
class World {
public:
    World() {
        thread_.start([this] {
            lookups_ = std::make_unique<NameLookups>(servers.look_up(), thread_.loop());
            thread_.run();
            lookups_.reset();
        });
    }
    ~World() {
        servers.let_go();
        thread_.stop();
    }
    std::uint64_t ask(const std::string& owner, const std::string& name) {
        std::uint64_t asker = 0;
        thread_.run_there([&] {
            asker = lookups_->ask(owner, name, [this, name](auto, const auto& addresses) {
                const std::scoped_lock lock{mutex_};
                answers_.insert(name + "=" + (addresses.empty() ? "" : addresses.front()));
                changed_.notify_all();
            });
        });
        return asker;
    }
    void wait_for(const std::string& answer, std::size_t times = 1) {
        std::unique_lock lock{mutex_};
        REQUIRE(changed_.wait_for(lock, 20s, [&] { return answers_.count(answer) >= times; }));
    }
    template <class F>
    auto with(F f) {
        decltype(f(*lookups_)) result{};
        thread_.run_there([&] { result = f(*lookups_); });
        return result;
    }
    void forget(std::uint64_t asker) {
        thread_.run_there([&] { lookups_->forget(asker); });
    }

    NameServers servers;

private:
    const core::SystemClock clock_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::multiset<std::string> answers_;  ///< under mutex_
    net::LoopThread thread_{"lookups", clock_};
    std::unique_ptr<NameLookups> lookups_;  ///< of the thread
};

HttpAnswer send(const std::string& url, NameServers& servers) {
    return test::send({.url = url, .headers = {}, .body = {}},
                      {.guard = test::open_guard(), .look_up = servers.look_up()});
}

}  // namespace

TEST_CASE("a name is looked up once a minute, however many ask", "[retry][names]") {
    World world;
    for (int i = 0; i < 3; ++i) world.ask("shop", "hangs.example");
    world.servers.wait_for_hanging(1);
    world.servers.let_go();
    world.wait_for("hangs.example=127.0.0.1", 3);
    CHECK(world.servers.times_asked("hangs.example") == 1);
    const core::SystemClock clock;
    const auto known_at = [&](core::MonoTime when) {
        return world.with([&](auto& lookups) {
            const auto* known = lookups.known("hangs.example", when);
            return known ? *known : NameLookups::Addresses{};
        });
    };
    CHECK(known_at(clock.mono()) == NameLookups::Addresses{"127.0.0.1"});
    CHECK(known_at(clock.mono() + NameLookups::kKnownFor).empty());
    world.ask("shop", "unknown");
    world.wait_for("unknown=");
    CHECK(world.with([](auto& lookups) { return lookups.names(); }) == 1);
}

TEST_CASE("names that nobody answers for leave threads to the names of other owners",
          "[retry][names][bounds]") {
    World world;
    for (int i = 0; i < 500; ++i) world.ask("hostile", "hangs-" + std::to_string(i));
    const auto threads = [&] { return world.with([](auto& all) { return all.threads(); }); };
    const auto of_one = threads();
    CHECK(of_one >= 4);
    CHECK(of_one <= NameLookups::kThreadsMax / 4);
    world.ask("shop", "quick.example");
    world.wait_for("quick.example=127.0.0.1");
    for (int owner = 0; owner < 100; ++owner) {
        for (int i = 0; i < 10; ++i) {
            world.ask("hostile-" + std::to_string(owner), "hangs-" + std::to_string(i));
        }
    }
    CHECK(threads() == NameLookups::kThreadsMax);
    world.ask("shop", "later.example");  // waits, and then has a turn before the many
    world.servers.let_go();
    world.wait_for("later.example=127.0.0.1");
}

TEST_CASE("whoever forgets a lookup hears nothing of it, and it takes no thread any more",
          "[retry][names]") {
    World world;
    std::vector<std::uint64_t> askers;
    for (int i = 0; i < 50; ++i) askers.push_back(world.ask("shop", "hangs-" + std::to_string(i)));
    world.servers.wait_for_hanging(world.with([](auto& all) { return all.threads(); }));
    for (const auto asker : askers) world.forget(asker);
    const auto last = world.ask("shop", "hangs-49");
    world.forget(last);
    world.forget(last);
    world.ask("shop", "z.example");
    world.servers.let_go();
    world.wait_for("z.example=127.0.0.1");
    CHECK(world.servers.times_asked("hangs-0") == 1);  // it had begun
    CHECK(world.servers.times_asked("hangs-49") == 0);
}

TEST_CASE("the addresses of a bounded number of names are remembered", "[retry][names][bounds]") {
    World world;
    for (std::size_t i = 0; i < NameLookups::kNamesMax + 100; ++i) {
        const auto name = std::to_string(i) + ".example";
        world.ask("shop", name);
        world.wait_for(name + "=127.0.0.1");
    }
    CHECK(world.with([](auto& all) { return all.names(); }) == NameLookups::kNamesMax);
}

TEST_CASE("a request goes to the address that its host's name has", "[retry][names][http]") {
    std::string seen;
    test::ScriptedServer server{[&](Peer& peer) {
        seen = peer.read_request();
        peer.answer("204 No Content");
    }};
    NameServers servers;
    const auto port = server.url().substr(server.url().rfind(':'));
    for (const std::string host : {"shop.example", "Shop.Example", "shop.example."}) {
        CAPTURE(host);
        const auto answer = send("http://" + host + port + "/hook", servers);
        CHECK(answer.end == End::answered);
        CHECK(answer.status == 204);
    }
    CHECK(seen.find("\r\nHost: shop.example") != std::string::npos);
    CHECK(send("http://unknown/", servers).end == End::unreachable);
    // As what it is told of a name, `*` would be all names to libcurl.
    CHECK(send("http://%2a" + port, servers).end == End::unreachable);
    CHECK(servers.times_asked("*") == 0);
    CHECK(send("http://127.0.0.1" + port, servers).status == 204);
    CHECK(servers.times_asked("127.0.0.1") == 0);
}

// libcurl by itself waits, in the call that ends a request, for its thread that looks the name up.
TEST_CASE("a name that nobody answers for costs its request the time-out, and no other anything",
          "[retry][names][http]") {
    test::ScriptedServer server{[](Peer& peer) {
        while (!peer.read_request().empty()) peer.answer("204 No Content");
    }};
    NameServers servers;
    net::IoLoop loop;
    retry::HttpSender sender{{.guard = test::open_guard(), .look_up = servers.look_up()}, loop};
    HttpAnswer hung;
    int answered = 0;
    std::function<void()> again = [&] {
        sender.send({.url = server.url(), .headers = {}, .body = {}},
                    [&](const HttpAnswer& answer) {
                        CHECK(answer.status == 204);
                        ++answered;
                        loop.post_after(10ms, again);
                    });
    };
    loop.post([&] {
        sender.send({.url = "http://hangs.example/", .headers = {}, .body = {}, .timeout = 300ms},
                    [&](HttpAnswer answer) {
                        hung = std::move(answer);
                        loop.stop();
                    });
        again();
    });
    loop.run("retry");
    CHECK(hung.end == End::timed_out);
    CHECK(hung.took >= 300ms);
    CHECK(answered >= 3);
    CHECK(servers.times_asked("hangs.example") == 1);
}
