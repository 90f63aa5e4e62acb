#include "retry/attempt/fair_sender.hpp"

#include "core/thread_time.hpp"
#include "retry/attempt/scripted_server.hpp"
#include "support/manual_clock.hpp"

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using Peer = test::ScriptedServer::Peer;
using retry::FairSender;
using retry::FairTime;
using retry::HttpAnswer;
using retry::RequestMaker;
using retry::SendThread;

namespace {

/// A loop with its thread.
class Thread {
public:
    ~Thread() {
        loop.stop();
        thread_.join();
    }
    void run(const std::function<void()>& what) {
        std::promise<void> done;
        loop.post([&] {
            what();
            done.set_value();
        });
        done.get_future().wait();
    }
    net::IoLoop loop;

private:
    std::thread thread_{[this] { loop.run("retry"); }};
};

/// The thread aside does nothing until this ends.
class Halted {
public:
    explicit Halted(Thread& thread) {
        thread.loop.post([ended = ended_.get_future().share()] { ended.wait(); });
    }
    ~Halted() { ended_.set_value(); }

private:
    std::promise<void> ended_;
};

/// A sender with its two threads, of which the owners may use two milliseconds a second.
class Fixture {
public:
    Fixture() {
        here.run([this] {
            sender = std::make_unique<FairSender>(
                retry::HttpSender::Options{.guard =
                                               *retry::AddressGuard::with_allowed({"127.0.0.1"})},
                clock, here.loop, aside.loop, FairTime{2ms});
        });
    }
    ~Fixture() { end(); }
    void end() {
        here.run([this] { sender.reset(); });
    }

    std::future<int> send(const std::string& owner) {
        const auto status = std::make_shared<std::promise<int>>();
        here.loop.post([this, owner, status] {
            sender->send(maker(owner, "/" + owner), [this, status](const HttpAnswer& answer) {
                in_place = in_place && std::this_thread::get_id() == here_id();
                status->set_value(answer.status);
            });
        });
        return status->get_future();
    }
    RequestMaker maker(const std::string& owner, const std::string& path) {
        return {.owner = owner, .make = [this, owner, path](SendThread thread) {
                    if (making) making(thread);
                    return retry::HttpRequest{
                        .url = server.url(path), .headers = {}, .body = "x", .owner = owner};
                }};
    }
    /// Until the owner's requests are sent aside.
    void send_many(const std::string& owner) {
        for (int i = 0; i < 10'000 && sender->sent_aside() == 0; ++i) {
            REQUIRE(send(owner).get() == 200);
        }
        REQUIRE(sender->sent_aside() == 1);
    }
    std::thread::id here_id() {
        if (!id_) id_ = std::this_thread::get_id();
        return *id_;
    }

    test::ScriptedServer server{[](Peer& peer) {
        while (true) {
            const auto request = peer.read_request();
            if (request.empty()) return;
            if (request.starts_with("POST /hang")) return peer.hang();
            peer.answer("200 OK");
        }
    }};
    test::ManualClock clock;
    Thread aside;
    Thread here;
    std::unique_ptr<FairSender> sender;  ///< of `here`
    std::function<void(SendThread)> making;
    bool in_place = true;  ///< all answers came on one thread

private:
    std::optional<std::thread::id> id_;
};

}  // namespace

// With one sender for all, the requests of the other owner wait behind those of the first.
TEST_CASE("requests of an owner that uses most are sent aside, and no others",
          "[retry][http][fairness]") {
    Fixture senders;
    senders.send_many("heavy");
    {
        const Halted halted{senders.aside};
        auto heavy = senders.send("heavy");
        CHECK(senders.send("healthy").get() == 200);
        CHECK(heavy.wait_for(0s) == std::future_status::timeout);
        CHECK(senders.sender->sent_aside() == 2);
    }
    CHECK(senders.send("heavy").get() == 200);
    CHECK(senders.in_place);
}

TEST_CASE("making a request belongs to what its owner uses, and is done where it is sent",
          "[retry][http][fairness]") {
    Fixture senders;
    std::vector<SendThread> made;
    senders.making = [&](SendThread thread) {
        made.push_back(thread);
        const auto until = core::thread_time() + 10ms;
        while (core::thread_time() < until) continue;
    };
    CHECK(senders.send("heavy").get() == 200);
    CHECK(senders.sender->sent_aside() == 0);
    senders.here.run([&] { senders.clock.advance(200ms); });  // the shares follow
    CHECK(senders.send("heavy").get() == 200);
    CHECK(senders.sender->sent_aside() == 1);
    CHECK(made == std::vector{SendThread::own, SendThread::aside});
    senders.making = nullptr;
    CHECK(senders.send("healthy").get() == 200);
    CHECK(senders.sender->sent_aside() == 1);
}

TEST_CASE("a request that cannot be made aside is answered", "[retry][http][fairness]") {
    Fixture senders;
    senders.send_many("heavy");
    senders.making = [](SendThread) { throw std::runtime_error{"made so"}; };
    CHECK(senders.send("heavy").get() == 0);
    senders.making = nullptr;
    CHECK(senders.send("heavy").get() == 200);
}

TEST_CASE("an owner that uses less comes back", "[retry][http][fairness]") {
    Fixture senders;
    senders.send_many("heavy");
    for (int i = 0; i < 1'000; ++i) REQUIRE(senders.send("heavy").get() == 200);
    CHECK(senders.sender->sent_aside() == 1'001);
    // What it has used aside counts too.
    senders.here.run([&] { senders.clock.advance(1s); });
    CHECK(senders.send("heavy").get() == 200);
    CHECK(senders.sender->sent_aside() == 1'002);
    senders.here.run([&] { senders.clock.advance(20s); });
    const Halted halted{senders.aside};
    CHECK(senders.send("heavy").get() == 200);
    CHECK(senders.sender->sent_aside() == 1'002);
}

TEST_CASE("a sender that goes answers nothing more, from neither thread",
          "[retry][http][fairness]") {
    Fixture senders;
    senders.send_many("heavy");
    auto hangs = senders.send("hang");
    auto heavy = std::make_shared<std::atomic<int>>(0);
    senders.here.run([&] {
        senders.sender->send(senders.maker("heavy", "/hang"),
                             [heavy](const HttpAnswer&) { ++*heavy; });
    });
    senders.aside.run([] {});  // it has begun there
    senders.end();
    CHECK(*heavy == 0);
    CHECK_THROWS_AS(hangs.get(), std::future_error);  // its answer was dropped
}
