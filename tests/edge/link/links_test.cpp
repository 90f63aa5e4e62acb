#include "edge/link/links.hpp"

#include "support/test_socket.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace beckon;
using namespace edge::link;
using namespace std::chrono_literals;

namespace {

/// As in every process of Beckon: OpenSSL writes to connections that the peer has closed.
const auto kPipeBefore = std::signal(SIGPIPE, SIG_IGN);

const core::NodeId kA{"000000000000000a"};
const core::NodeId kB{"000000000000000b"};
const core::NodeId kC{"000000000000000c"};
constexpr auto kSoon = 20s;

std::shared_ptr<const core::KeyRing> ring() {
    return std::make_shared<const core::KeyRing>(core::KeyRing::generate());
}

/// A node's links, with their events in words.
struct Node {
    Node(core::NodeId self, std::shared_ptr<const core::KeyRing> keys,
         edge::EdgeOptions options = {.link_port = 0})
        : id(self), links(with(std::move(options), self), std::move(keys), clock, events()) {}

    static edge::EdgeOptions with(edge::EdgeOptions options, const core::NodeId& self) {
        options.node = self;
        if (options.log_id.empty()) options.log_id = "log";
        return options;
    }

    Links::Events events() {
        return {.arrived =
                    [this](const core::NodeId& from, edge::Messages arrivals) {
                        for (const auto& m : arrivals.to_homes) {
                            if (const auto* text = std::get_if<edge::FromClient>(&m)) {
                                note(from.text.substr(15) + " says " +
                                     std::get<edge::Nack>(text->command).version);
                            }
                        }
                        for (const auto& m : arrivals.to_fronts) {
                            if (const auto* text = std::get_if<edge::ToClient>(&m)) {
                                note(from.text.substr(15) + " answers " + text->text);
                            }
                        }
                    },
                .up = [this](const core::NodeId& n) { note("up " + n.text.substr(15)); },
                .down = [this](const core::NodeId& n,
                               const core::Error&) { note("down " + n.text.substr(15)); },
                .dead = [this](const core::NodeId& n) { note("dead " + n.text.substr(15)); },
                .congested = [this] { return congested.load(); }};
    }

    void note(std::string what) {
        const std::scoped_lock lock{mutex};
        received.push_back(std::move(what));
        changed.notify_all();
    }
    /// True once `what` was received `times` times.
    bool receives(const std::string& what, std::ptrdiff_t times = 1) {
        std::unique_lock lock{mutex};
        return changed.wait_for(lock, kSoon, [&] {
            return std::count(received.begin(), received.end(), what) >= times;
        });
    }
    std::vector<std::string> all() {
        const std::scoped_lock lock{mutex};
        return received;
    }
    std::string address() const { return "127.0.0.1:" + std::to_string(links.port()); }
    bool sends(const core::NodeId& to, const std::string& text) {
        const edge::SessionId session{.front = id, .shard = 0, .number = 1};
        const auto sent = links.to_home(to, edge::FromClient{session, {}, edge::Nack{text}});
        links.flush();
        return sent == edge::Sent::yes;
    }
    bool answers(const core::NodeId& to, const std::string& text) {
        const edge::SessionId session{.front = to, .shard = 0, .number = 1};
        const auto sent = links.to_front(to, edge::ToClient{session, text});
        links.flush();
        return sent == edge::Sent::yes;
    }
    std::string why_down(const core::NodeId& peer) {
        for (const auto& status : links.status()) {
            if (status.peer == peer) return status.why_down;
        }
        return "unknown";
    }

    const core::NodeId id;
    const core::SystemClock clock;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::string> received;
    std::atomic<bool> congested{false};
    Links links;  ///< last: its thread calls into the others
};

void introduce(Node& one, Node& other) {
    one.links.set_peers({{one.id, one.address()}, {other.id, other.address()}});
    other.links.set_peers({{one.id, one.address()}, {other.id, other.address()}});
}

/// Two nodes with one key ring whose link is up at both ends.
struct Linked {
    Linked() {
        introduce(a, b);
        REQUIRE(a.receives("up b"));
        REQUIRE(b.receives("up a"));
    }
    const std::shared_ptr<const core::KeyRing> keys = ring();
    Node a{kA, keys};
    Node b{kB, keys};
};

template <class Condition>
bool eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + kSoon;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return true;
}

/// A TCP connection to a node that speaks as the test says.
int connect_to(std::uint16_t port) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
    return fd;
}

/// Connections of peers that never send a greeting.
struct UnknownPeers {
    UnknownPeers(std::uint16_t port, std::size_t count) {
        while (sockets.size() < count) sockets.push_back(connect_to(port));
    }
    ~UnknownPeers() {
        for (const int socket : sockets) close(socket);
    }
    UnknownPeers(const UnknownPeers&) = delete;
    UnknownPeers& operator=(const UnknownPeers&) = delete;

    bool are_all_open() const {
        return std::all_of(sockets.begin(), sockets.end(), [](int socket) {
            char byte = 0;
            return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
        });
    }

    std::vector<int> sockets;
};

/// How long an unknown peer's connection lasts if it says nothing.
std::chrono::steady_clock::duration time_of_unknown_peer(std::uint16_t port) {
    const auto begin = std::chrono::steady_clock::now();
    const UnknownPeers one{port, 1};
    char byte = 0;
    while (recv(one.sockets.front(), &byte, 1, 0) > 0) {
    }
    return std::chrono::steady_clock::now() - begin;
}

}  // namespace

TEST_CASE("two nodes with one key ring talk both ways over one link") {
    Linked nodes;
    auto& a = nodes.a;
    auto& b = nodes.b;
    REQUIRE(a.sends(kB, "hello"));
    REQUIRE(b.receives("a says hello"));
    REQUIRE(b.answers(kA, "hi"));
    REQUIRE(a.receives("b answers hi"));
    REQUIRE(b.sends(kA, "and back"));
    REQUIRE(a.receives("b says and back"));
}

TEST_CASE("messages keep their order on a link") {
    Linked nodes;
    auto& a = nodes.a;
    auto& b = nodes.b;
    std::vector<std::string> expected;
    for (int i = 0; i < 2'000; ++i) {
        REQUIRE(a.sends(kB, std::to_string(i)));
        expected.push_back("a says " + std::to_string(i));
    }
    REQUIRE(b.receives(expected.back()));
    auto received = b.all();
    std::erase(received, "up a");
    CHECK(received == expected);
}

TEST_CASE("threads that send at once, both ways, lose nothing and keep their order") {
    constexpr int kMessages = 2'000;
    Linked nodes;
    auto& a = nodes.a;
    auto& b = nodes.b;
    const auto send = [](Node& from, const core::NodeId& to, const std::string& name) {
        for (int i = 0; i < kMessages; ++i) from.sends(to, name + std::to_string(i));
    };
    std::vector<std::thread> threads;
    for (const std::string name : {"x", "y"}) {
        threads.emplace_back([&, name] { send(a, kB, name); });
        threads.emplace_back([&, name] { send(b, kA, name); });
    }
    for (auto& thread : threads) thread.join();
    const auto last = std::to_string(kMessages - 1);
    for (const std::string name : {"x", "y"}) {
        REQUIRE(b.receives("a says " + name + last));
        REQUIRE(a.receives("b says " + name + last));
        const auto check = [&](Node& at, const std::string& from) {
            int next = 0;
            for (const auto& received : at.all()) {
                if (!received.starts_with(from + " says " + name)) continue;
                REQUIRE(received == from + " says " + name + std::to_string(next));
                ++next;
            }
            CHECK(next == kMessages);
        };
        check(b, "a");
        check(a, "b");
    }
}

TEST_CASE("a node with another key ring is refused and named") {
    Node a{kA, ring()};
    Node b{kB, ring()};
    introduce(a, b);
    REQUIRE(eventually([&] { return a.why_down(kB) != "not connected yet"; }));
    CHECK(!a.sends(kB, "hello"));
    CHECK(b.all().empty());
}

TEST_CASE("a node that serves another log is refused") {
    const auto keys = ring();
    Node a{kA, keys};
    Node b{kB, keys, {.log_id = "another", .link_port = 0}};
    introduce(a, b);
    REQUIRE(eventually([&] {
        return a.why_down(kB) == "the peer serves the log 'another', this node serves 'log'" ||
               a.why_down(kB) == "the peer closed the connection";
    }));
    CHECK(a.all().empty());
    CHECK(b.all().empty());
}

TEST_CASE("nodes talk while one of them has a rotated ring") {
    const auto old = ring();
    const auto rotated = std::make_shared<const core::KeyRing>(old->rotated().value());
    const bool caller_is_new = GENERATE(true, false);
    CAPTURE(caller_is_new);
    Node a{kA, caller_is_new ? rotated : old};
    Node b{kB, caller_is_new ? old : rotated};
    introduce(a, b);
    REQUIRE(a.receives("up b"));
    REQUIRE(b.receives("up a"));
}

TEST_CASE("a link that is lost is reported and made again") {
    const auto keys = ring();
    Node a{kA, keys};
    std::uint16_t port = 0;
    {
        Node b{kB, keys};
        port = b.links.port();
        introduce(a, b);
        REQUIRE(a.receives("up b"));
    }
    REQUIRE(a.receives("down b"));
    CHECK(!a.sends(kB, "nobody"));
    Node again{kB, keys, {.link_port = port}};
    REQUIRE(a.receives("up b", 2));
    REQUIRE(a.sends(kB, "back"));
    REQUIRE(again.receives("a says back"));
}

TEST_CASE("a node that died is found dead by both ends, and no node that lives") {
    // Of two nodes the one with the smaller id calls; the other one looks too.
    const bool smaller_dies = GENERATE(true, false);
    CAPTURE(smaller_dies);
    const auto keys = ring();
    auto a = std::make_unique<Node>(kA, keys);
    auto c = std::make_unique<Node>(kC, keys);
    Node b{kB, keys};
    const std::map<core::NodeId, std::string> all = {
        {kA, a->address()}, {kB, b.address()}, {kC, c->address()}};
    for (auto* node : {a.get(), &b, c.get()}) node->links.set_peers(all);
    REQUIRE(b.receives("up a"));
    REQUIRE(b.receives("up c"));
    (smaller_dies ? a : c).reset();
    CHECK(b.receives(smaller_dies ? "dead a" : "dead c"));
    const auto received = b.all();
    CHECK(std::count_if(received.begin(), received.end(),
                        [](const auto& what) { return what.starts_with("dead"); }) == 1);
    auto& other = smaller_dies ? *c : *a;
    CHECK(other.receives(smaller_dies ? "dead a" : "dead c"));
}

TEST_CASE("a node that is called in vain is found dead, also if it never was linked") {
    const test::RefusingPort nobody;
    Node b{kB, ring()};
    b.links.set_peers({{kA, nobody.address()}, {kC, nobody.address()}});
    CHECK(b.receives("dead a"));
    CHECK(b.receives("dead c"));
}

TEST_CASE("the address of a node that died and came back with another name disturbs no link") {
    const auto keys = ring();
    Node a{kA, keys};
    Node again{kC, keys};
    // Until the group misses b, both names stand in the log, with one address.
    a.links.set_peers({{kB, again.address()}, {kC, again.address()}});
    again.links.set_peers({{kA, a.address()}, {kB, again.address()}});
    REQUIRE(a.receives("up c"));
    REQUIRE(eventually([&] { return a.why_down(kB).find("was expected") != std::string::npos; }));
    REQUIRE(a.sends(kC, "still here"));
    REQUIRE(again.receives("a says still here"));
    const auto lost = [](Node& node) {
        const auto received = node.all();
        return std::count_if(received.begin(), received.end(),
                             [](const std::string& what) { return what.starts_with("down"); });
    };
    CHECK(lost(a) == 0);
    CHECK(lost(again) == 0);
}

TEST_CASE("the link to a node that has left ends") {
    Linked nodes;
    auto& a = nodes.a;
    a.links.set_peers({});
    REQUIRE(a.receives("down b"));
    CHECK(a.links.status().empty());
}

TEST_CASE("three nodes have one link for each pair") {
    const auto keys = ring();
    Node a{kA, keys};
    Node b{kB, keys};
    Node c{kC, keys};
    for (auto* node : {&a, &b, &c}) {
        node->links.set_peers({{kA, a.address()}, {kB, b.address()}, {kC, c.address()}});
    }
    REQUIRE(a.receives("up b"));
    REQUIRE(a.receives("up c"));
    REQUIRE(b.receives("up c"));
    REQUIRE(c.receives("up a"));
    REQUIRE(c.sends(kA, "from c"));
    REQUIRE(a.receives("c says from c"));
}

TEST_CASE(
    "frames to a peer that does not read are refused beyond a bound, and no accepted frame is "
    "lost") {
    const auto keys = ring();
    Node a{kA, keys, {.link_port = 0, .link_queue_bytes_max = 64 * 1024}};
    Node b{kB, keys};
    introduce(a, b);
    REQUIRE(a.receives("up b"));
    b.congested = true;
    const std::string text(8'000, 'x');
    std::ptrdiff_t sent = 0;
    REQUIRE(eventually([&] {
        if (!a.sends(kB, text)) return true;
        ++sent;
        return false;
    }));
    // The frame that ends a session is sent all the same.
    CHECK(a.links.to_home(kB, edge::Detach{{.front = kA, .shard = 0, .number = 1}, {}}) ==
          edge::Sent::yes);
    b.congested = false;
    REQUIRE(b.receives("a says " + text, sent));
    REQUIRE(eventually([&] { return a.sends(kB, "space again"); }));
    REQUIRE(b.receives("a says space again"));
}

TEST_CASE("a peer that is no node is closed and disturbs nobody") {
    Linked nodes;
    auto& a = nodes.a;
    auto& b = nodes.b;
    const std::string words =
        GENERATE(std::string{"GET / HTTP/1.1\r\n\r\n"}, std::string(70'000, 'a'),
                 std::string{"\x16\x03\x01\x00\x05hello", 10});
    const int fd = connect_to(a.links.port());
    send(fd, words.data(), words.size(), MSG_NOSIGNAL);
    char byte = 0;
    while (recv(fd, &byte, 1, 0) > 0) {  // an alert may come before the end
    }
    close(fd);
    REQUIRE(a.sends(kB, "still here"));
    REQUIRE(b.receives("a says still here"));
}

TEST_CASE("unknown peers beyond the bound are closed at once, and later there is space") {
    const auto keys = ring();
    Node a{kA, keys};
    Node b{kB, keys};
    // A machine that is stalled for seconds looks as if all of them had been closed: once more.
    REQUIRE(eventually([&] {
        const UnknownPeers unknown_peers{b.links.port(), Links::kUnnamedMax};
        const auto took = time_of_unknown_peer(b.links.port());
        return took < 2s && unknown_peers.are_all_open();
    }));
    introduce(a, b);
    REQUIRE(a.receives("up b"));
    REQUIRE(a.sends(kB, "hello"));
    REQUIRE(b.receives("a says hello"));
}

TEST_CASE("the address of a link is host and port") {
    const auto keys = ring();
    const auto bad = GENERATE(std::string{"host"}, std::string{":1"}, std::string{"host:0"},
                              std::string{"host:70000"}, std::string{"::1:80"},
                              std::string{"[]:80"}, std::string{"host:80x"});
    CAPTURE(bad);
    Node a{kA, keys};
    a.links.set_peers({{kB, bad}});
    REQUIRE(eventually([&] { return a.why_down(kB).starts_with("'" + bad + "' is no address"); }));
}
