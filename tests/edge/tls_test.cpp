#include "net/tls.hpp"

#include "core/handle.hpp"
#include "support/certificate.hpp"
#include "support/front_world.hpp"
#include "support/temp_dir.hpp"
#include "support/test_socket.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <openssl/ssl.h>

using namespace beckon;
using namespace std::chrono_literals;
using edge::ClosedBy;
using test::FakeHome;
using test::FrontWorld;
using test::order;
using test::WsClient;
using Tls = test::WsClient::Tls;
using Kind = test::WsClient::Event::Kind;

namespace {

struct Certificates {
    test::TempDir directory;
    net::TlsFiles files{.certificate = directory / "cert.pem", .key = directory / "key.pem"};

    explicit Certificates(const std::string& name) { renew(name); }
    void renew(const std::string& name, test::KeyKind kind = test::KeyKind::ec) const {
        test::write_certificate(files.certificate, files.key, name, kind);
    }
    edge::EdgeOptions options() const {
        auto options = FrontWorld::defaults();
        options.tls_certificate = files.certificate;
        options.tls_key = files.key;
        options.shards = 2;
        return options;
    }
};

}  // namespace

TEST_CASE("a client speaks over TLS as it does without") {
    const Certificates certificates{"one.test"};
    FrontWorld world{certificates.options()};
    auto client = world.client(Tls::yes);
    CHECK(client.certificate_subject() == "/CN=one.test");
    for (int i = 0; i < 20; ++i) {
        client.text(order("frame " + std::to_string(i)));
        REQUIRE(client.next_message().payload.ends_with(":frame " + std::to_string(i)));
    }
    const std::string large(60'000, 'l');
    client.text(order(large));
    CHECK(client.next_message().payload.ends_with(large));
    client.text(order("burst 100 4000"));
    for (int i = 0; i < 100; ++i) {
        REQUIRE(client.next_message().payload.starts_with(std::to_string(i) + ":x"));
    }
    client.text(order("close 1000 SM"));
    CHECK(client.until_closed().code() == 1000);
    CHECK(client.until_closed().kind == Kind::end);
    CHECK(FrontWorld::soon([&] { return world.counters.sockets.connections->Value() == 0; }));
}

TEST_CASE("monitoring routes and refusals work over TLS") {
    const Certificates certificates{"one.test"};
    auto options = certificates.options();
    options.connections_max = 1;
    FrontWorld world{options};
    auto one = world.client(Tls::yes);
    WsClient two{world.fronts.port(), Tls::yes};
    CHECK_FALSE(two.upgrade());
    CHECK(two.head().starts_with("HTTP/1.1 503"));
    WsClient probe{world.fronts.port(), Tls::yes};
    CHECK(probe.request("GET /__lbheartbeat__ HTTP/1.1\r\nHost: x\r\n\r\n")
              .starts_with("HTTP/1.1 200"));
    for (int i = 0; i < 20; ++i) {  // the request comes with the handshake's end, or after it
        WsClient absolute{world.fronts.port(), Tls::yes};
        CHECK(absolute.request("GET http://x/__lbheartbeat__ HTTP/1.1\r\nHost: x\r\n\r\n")
                  .starts_with("HTTP/1.1 200"));
    }
}

TEST_CASE("a reload serves new connections the new certificate and keeps the old ones") {
    const Certificates certificates{"one.test"};
    FrontWorld world{certificates.options()};
    auto old = world.client(Tls::yes);
    certificates.renew("two.test");
    REQUIRE(world.fronts.reload_tls());
    for (int i = 0; i < 8; ++i) {  // both shards
        CHECK(world.client(Tls::yes).certificate_subject() == "/CN=two.test");
    }
    old.text(order("still"));
    CHECK(old.next_message().payload.ends_with(":still"));
}

// OpenSSL keeps one certificate for each kind of key, and prefers that of a curve.
TEST_CASE("a reload replaces a certificate with another kind of key") {
    const Certificates certificates{"curve.test"};
    FrontWorld world{certificates.options()};
    for (const auto& [name, kind] :
         {std::pair{"rsa.test", test::KeyKind::rsa}, {"curve-again.test", test::KeyKind::ec}}) {
        certificates.renew(name, kind);
        REQUIRE(world.fronts.reload_tls());
        for (int i = 0; i < 4; ++i) {  // both shards
            CHECK(world.client(Tls::yes).certificate_subject() == "/CN=" + std::string{name});
        }
    }
}

namespace {

/// A client of TLS that keeps its session from one connection to the next.
class Visitor {
public:
    struct Seen {
        std::string protocol;  ///< that ALPN has chosen
        bool resumed = false;
        bool operator==(const Seen&) const = default;
    };

    Seen visit(std::uint16_t port) {
        const test::TestSocket socket{port};
        const core::Handle<SSL, SSL_free> ssl{SSL_new(context_.get())};
        SSL_set_fd(ssl.get(), socket.fd());
        const std::string offer = "\x02h2\x08http/1.1";
        SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const unsigned char*>(offer.data()),
                            static_cast<unsigned>(offer.size()));
        if (session_) SSL_set_session(ssl.get(), session_.get());
        REQUIRE(SSL_connect(ssl.get()) == 1);
        const std::string ask = "GET /__lbheartbeat__ HTTP/1.1\r\nHost: x\r\n\r\n";
        REQUIRE(SSL_write(ssl.get(), ask.data(), static_cast<int>(ask.size())) > 0);
        char answer[256];
        REQUIRE(SSL_read(ssl.get(), answer, sizeof answer) > 0);  // and the ticket before it
        session_.reset(SSL_get1_session(ssl.get()));
        SSL_shutdown(ssl.get());  // a session whose connection broke off is not resumed
        const unsigned char* chosen = nullptr;
        unsigned length = 0;
        SSL_get0_alpn_selected(ssl.get(), &chosen, &length);
        return {.protocol = {reinterpret_cast<const char*>(chosen), length},
                .resumed = SSL_session_reused(ssl.get()) == 1};
    }

private:
    core::Handle<SSL_CTX, SSL_CTX_free> context_{SSL_CTX_new(TLS_client_method())};
    core::Handle<SSL_SESSION, SSL_SESSION_free> session_;
};

}  // namespace

TEST_CASE("ALPN chooses http/1.1, and a session that a client kept is resumed by any shard") {
    const Certificates certificates{"one.test"};
    FrontWorld world{certificates.options()};
    Visitor visitor;
    CHECK(visitor.visit(world.fronts.port()) == Visitor::Seen{"http/1.1", false});
    for (int i = 0; i < 8; ++i) {  // both shards
        CHECK(visitor.visit(world.fronts.port()) == Visitor::Seen{"http/1.1", true});
    }
}

// RFC 7301 section 3.2: it would speak HTTP/2 to a server that does not.
TEST_CASE("a client that offers another protocol alone is refused") {
    const Certificates certificates{"one.test"};
    FrontWorld world{certificates.options()};
    const test::TestSocket socket{world.fronts.port()};
    const core::Handle<SSL_CTX, SSL_CTX_free> context{SSL_CTX_new(TLS_client_method())};
    const core::Handle<SSL, SSL_free> ssl{SSL_new(context.get())};
    SSL_set_fd(ssl.get(), socket.fd());
    constexpr unsigned char kOffer[] = {2, 'h', '2'};
    SSL_set_alpn_protos(ssl.get(), kOffer, sizeof kOffer);
    CHECK(SSL_connect(ssl.get()) != 1);
    CHECK(FrontWorld::soon([&] { return world.counters.sockets.connections->Value() == 0; }));
}

TEST_CASE("a pair that does not fit changes nothing") {
    const Certificates certificates{"one.test"};
    FrontWorld world{certificates.options()};
    const Certificates other{"other.test"};
    std::filesystem::copy_file(other.files.certificate, certificates.files.certificate,
                               std::filesystem::copy_options::overwrite_existing);
    CHECK_FALSE(net::check(certificates.files));
    CHECK_FALSE(world.fronts.reload_tls());
    CHECK(world.client(Tls::yes).certificate_subject() == "/CN=one.test");
}

TEST_CASE("a TLS handshake that stops half way is dropped in time") {
    const Certificates certificates{"one.test"};
    auto options = certificates.options();
    options.hello_timeout = 50ms;
    FrontWorld world{options};
    WsClient silent{world.fronts.port()};
    SECTION("silent") {}
    SECTION("a part of a record") { silent.raw(std::string("\x16\x03\x01\x02", 4)); }
    CHECK(silent.next().kind == Kind::end);
    CHECK(FrontWorld::soon([&] { return world.counters.sockets.connections->Value() == 0; }));
}

TEST_CASE("plain text on the TLS port ends at once") {
    const Certificates certificates{"one.test"};
    FrontWorld world{certificates.options()};
    WsClient plain{world.fronts.port()};
    CHECK_FALSE(plain.upgrade());
    CHECK(FrontWorld::soon([&] { return world.counters.sockets.connections->Value() == 0; }));
}

TEST_CASE("over TLS too: time-outs, slow readers and the stop") {
    const Certificates certificates{"one.test"};
    auto options = certificates.options();
    options.hello_timeout = 500ms;
    options.unsent_bytes_max = 256 * 1024;
    FrontWorld world{options};
    auto mute = world.connect(Tls::yes);
    CHECK(mute.until_closed().reason() == "HandshakeTimeout");
    auto slow = world.client(Tls::yes);
    slow.text(order("burst 2000 4000"));
    CHECK(FrontWorld::soon([&] { return world.closed(ClosedBy::slow) == 1; }));
    auto client = world.client(Tls::yes);
    world.fronts.go_away(20ms);
    CHECK(client.until_closed().code() == 1001);
    CHECK(client.until_closed().kind == Kind::end);
}
