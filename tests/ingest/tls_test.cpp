#include "net/tls.hpp"

#include "ingest/endpoint_world.hpp"
#include "net/self_signed.hpp"

#include <cstdio>
#include <fstream>

#include <catch2/catch.hpp>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

using namespace beckon;
using namespace beckon::test;

namespace {

struct Files {
    std::filesystem::path certificate;
    std::filesystem::path key;
};

Files make_files(const TempDir& directory, const std::string& name) {
    Files files{directory / (name + ".crt"), directory / (name + ".key")};
    const auto written = net::write_self_signed(files.certificate, files.key,
                                                {.names = {name, "localhost", "127.0.0.1", "::1"}});
    REQUIRE(written.has_value());
    return files;
}

ingest::EndpointConfig with_tls(const Files& files) {
    ingest::EndpointConfig config;
    config.tls_certificate = files.certificate;
    config.tls_key = files.key;
    return config;
}

/// A blocking TLS client that trusts one certificate.
class TlsClient {
public:
    TlsClient(std::uint16_t port, const std::filesystem::path& trusted, int version_max = 0,
              const std::string& alpn = "\x08http/1.1")
        : socket_(port), context_(SSL_CTX_new(TLS_client_method())), ssl_(nullptr) {
        SSL_CTX_load_verify_locations(context_, trusted.c_str(), nullptr);
        SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
        if (version_max != 0) {
            SSL_CTX_set_min_proto_version(context_, TLS1_VERSION);
            SSL_CTX_set_max_proto_version(context_, version_max);
            SSL_CTX_set_cipher_list(context_, "ALL:@SECLEVEL=0");
        }
        ssl_ = SSL_new(context_);
        SSL_set_fd(ssl_, socket_.fd());
        SSL_set1_host(ssl_, "localhost");
        SSL_set_tlsext_host_name(ssl_, "localhost");
        if (!alpn.empty()) {
            SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(alpn.data()),
                                static_cast<unsigned>(alpn.size()));
        }
        connected_ = SSL_connect(ssl_) == 1;
    }
    ~TlsClient() {
        SSL_free(ssl_);
        SSL_CTX_free(context_);
    }
    TlsClient(const TlsClient&) = delete;
    TlsClient& operator=(const TlsClient&) = delete;

    bool connected() const { return connected_; }
    std::string alpn() const {
        const unsigned char* name = nullptr;
        unsigned length = 0;
        SSL_get0_alpn_selected(ssl_, &name, &length);
        return {reinterpret_cast<const char*>(name), length};
    }
    std::string common_name() const {
        X509* certificate = SSL_get1_peer_certificate(ssl_);
        char name[256] = {};
        X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
                                  sizeof name);
        X509_free(certificate);
        return name;
    }
    bool send(const std::string& bytes) {
        return SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) ==
               static_cast<int>(bytes.size());
    }
    /// Reads until the text occurs (or the end).
    std::string read_until(const std::string& text) {
        std::string all;
        char bytes[4096];
        while (all.find(text) == std::string::npos) {
            const int n = SSL_read(ssl_, bytes, sizeof bytes);
            if (n <= 0) break;
            all.append(bytes, static_cast<std::size_t>(n));
        }
        return all;
    }
    bool ended_in_order() {
        char byte;
        const int n = SSL_read(ssl_, &byte, 1);
        return n <= 0 && SSL_get_error(ssl_, n) == SSL_ERROR_ZERO_RETURN;
    }

private:
    TestSocket socket_;
    SSL_CTX* context_;
    SSL* ssl_;
    bool connected_ = false;
};

}  // namespace

TEST_CASE("a POST over TLS, with a certificate of our own making") {
    TempDir directory;
    const auto files = make_files(directory, "one.example");
    EndpointWorld world{with_tls(files)};
    const auto path = world.subscribed();
    REQUIRE(world.wait_ready());
    CHECK(world.endpoint_->origin().starts_with("https://127.0.0.1:"));
    TlsClient client{world.endpoint_->port(), files.certificate};
    REQUIRE(client.connected());
    CHECK(client.alpn() == "http/1.1");
    CHECK(client.common_name() == "one.example");
    std::string requests;
    for (int i = 0; i < 20; ++i) {  // several in one record, and records with half of one
        requests += EndpointWorld::post(path, std::string(4096, 'x'));
    }
    REQUIRE(client.send(requests + "GET /status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    const auto replies = client.read_until("\"version\"");
    CHECK(world.messages() == 20);
    CHECK(replies.find("\"status\":\"OK\"") != std::string::npos);
    CHECK(client.ended_in_order());
}

TEST_CASE("only TLS 1.2 and newer, only http/1.1") {
    TempDir directory;
    const auto files = make_files(directory, "one.example");
    EndpointWorld world{with_tls(files)};
    const auto port = world.endpoint_->port();
    CHECK_FALSE(TlsClient(port, files.certificate, TLS1_1_VERSION).connected());
    CHECK(TlsClient(port, files.certificate, TLS1_2_VERSION).connected());
    CHECK(TlsClient(port, files.certificate, TLS1_3_VERSION).connected());
    CHECK_FALSE(TlsClient(port, files.certificate, 0, "\x02h2").connected());
    CHECK(TlsClient(port, files.certificate, 0, "\x02h2\x08http/1.1").connected());
    CHECK(TlsClient(port, files.certificate, 0, "").connected());
}

TEST_CASE("certificate and key are read again without a restart") {
    TempDir directory;
    const auto files = make_files(directory, "one.example");
    const auto old = directory / "old.crt";
    std::filesystem::copy_file(files.certificate, old);
    EndpointWorld world{with_tls(files)};
    const auto port = world.endpoint_->port();
    TlsClient before{port, old};
    REQUIRE(before.connected());

    const auto next = make_files(directory, "two.example");
    std::filesystem::copy_file(next.certificate, files.certificate,
                               std::filesystem::copy_options::overwrite_existing);
    world.endpoint_->reload_tls();  // a pair that does not fit changes nothing
    CHECK(TlsClient(port, old).connected());
    std::filesystem::copy_file(next.key, files.key,
                               std::filesystem::copy_options::overwrite_existing);
    world.endpoint_->reload_tls();
    CHECK(
        world.executor_.eventually([&] { return TlsClient(port, files.certificate).connected(); }));
    CHECK(before.send("GET /status HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(before.read_until("OK").find("200 OK") != std::string::npos);
}

TEST_CASE("a handshake that stops half way is closed by the deadline") {
    TempDir directory;
    auto config = with_tls(make_files(directory, "one.example"));
    config.request_deadline = std::chrono::milliseconds{150};
    EndpointWorld world{config};
    auto silent = world.connect();
    auto half = world.connect();
    REQUIRE(half.send(std::string{"\x16\x03\x01\x02\x00\x01", 6}));
    auto plain = world.connect();
    REQUIRE(plain.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(plain.ends_or_is_reset());
    CHECK(silent.ends_or_is_reset());
    CHECK(half.ends_or_is_reset());
}

TEST_CASE("a self-signed certificate is for the names that were given") {
    TempDir directory;
    const auto files = make_files(directory, "push.example");
    struct stat facts {};
    REQUIRE(::stat(files.key.c_str(), &facts) == 0);
    CHECK((facts.st_mode & 0777) == 0600);
    FILE* file = std::fopen(files.certificate.c_str(), "r");
    X509* certificate = PEM_read_X509(file, nullptr, nullptr, nullptr);
    std::fclose(file);
    REQUIRE(certificate);
    CHECK(X509_check_host(certificate, "push.example", 0, 0, nullptr) == 1);
    CHECK(X509_check_host(certificate, "localhost", 0, 0, nullptr) == 1);
    CHECK(X509_check_host(certificate, "other.example", 0, 0, nullptr) == 0);
    CHECK(X509_check_ip_asc(certificate, "127.0.0.1", 0) == 1);
    CHECK(X509_check_ip_asc(certificate, "::1", 0) == 1);
    CHECK(X509_check_ip_asc(certificate, "10.0.0.1", 0) == 0);
    X509_free(certificate);
    CHECK(net::write_self_signed("/no/such/place.crt", "/no/such/place.key", {}).error().message ==
          "cannot write /no/such/place.key: No such file or directory");
    CHECK_FALSE(net::write_self_signed(files.certificate, files.key, {.names = {}}));
}
