#include "app/installation/self_made_certificate.hpp"

#include "net/self_signed.hpp"
#include "net/tls.hpp"
#include "support/temp_dir.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

using namespace beckon;
using std::chrono::days;

namespace {

struct Made {
    Made() {
        config.data = directory / "data";
        config.endpoint_self_signed = true;
    }
    std::string use() {
        app::use_self_made_certificate(config);
        std::ifstream file{config.data / "tls" / "certificate.pem"};
        return {std::istreambuf_iterator<char>{file}, {}};
    }
    net::CertificateFacts facts() const {
        return *net::read_certificate(config.data / "tls" / "certificate.pem");
    }
    bool has(const std::string& name) const {
        const auto names = facts().names;
        return std::find(names.begin(), names.end(), name) != names.end();
    }
    test::TempDir directory;
    app::Config config;
};

}  // namespace

TEST_CASE("a self-made certificate stays the same until a name is missing") {
    Made made;
    const auto first = made.use();
    CHECK(made.config.endpoint.tls_certificate == made.config.data / "tls" / "certificate.pem");
    CHECK(made.has("localhost"));
    CHECK(made.has("127.0.0.1"));
    CHECK(made.use() == first);

    made.config.certificate_names = {"push.example.org", "192.0.2.7"};
    const auto second = made.use();
    CHECK(second != first);
    CHECK(made.has("push.example.org"));
    CHECK(made.has("192.0.2.7"));
    CHECK(made.use() == second);
}

TEST_CASE("a self-made certificate whose key a power cut has torn is made anew") {
    Made made;
    const auto first = made.use();
    const auto key = made.config.data / "tls" / "key.pem";
    SECTION("nothing of it") { std::filesystem::resize_file(key, 0); }
    SECTION("a part of it") { std::filesystem::resize_file(key, 100); }
    SECTION("it is another one") {
        REQUIRE(net::write_self_signed(made.directory / "other.pem", key, {}));
    }
    CHECK(made.use() != first);
    CHECK(net::check({*made.config.endpoint.tls_certificate, key}));
}

TEST_CASE("a self-made certificate that expires soon is renewed at a start") {
    Made made;
    made.use();
    const auto tls = made.config.data / "tls";
    net::SelfSignedOptions options;
    options.valid = days{30};
    REQUIRE(net::write_self_signed(tls / "certificate.pem", tls / "key.pem", options));
    made.use();
    CHECK(made.facts().expires > std::chrono::system_clock::now() + days{700});
}
