#include "app/config/config.hpp"

#include "app/config/config_faults.hpp"
#include "app/config/config_text.hpp"
#include "app/config/fault_of.hpp"
#include "app/config/reader.hpp"

#include <catch2/catch.hpp>

using namespace beckon::app;
using beckon::test::fault_of;
using namespace std::chrono_literals;

TEST_CASE("later sources win over earlier ones, and each value knows where it came from") {
    Config config;
    Sources sources;
    const auto faults = apply({{"edge.port", "1000", "beckon.toml:2"},
                               {"edge.port", "2000", "BECKON_EDGE_PORT"},
                               {"edge.port", "3000", "--edge-port"},
                               {"ops.port", "4000", "beckon.toml:5"}},
                              config, sources);
    CHECK(faults.empty());
    CHECK(config.edge.port == 3000);
    CHECK(sources.at("edge.port") == "--edge-port");
    CHECK(sources.at("ops.port") == "beckon.toml:5");
    CHECK_THAT(print_config(config, sources), Catch::Contains("\nport = 3000  # --edge-port"));
    CHECK_THAT(print_config(config, sources), Catch::Contains("\nhost = \"127.0.0.1\"  # default"));
}

TEST_CASE("an unknown option names the nearest known one") {
    CHECK(fault_of({{"edge.prot", "1", "beckon.toml:3"}}) ==
          "beckon.toml:3: unknown option 'edge.prot'; did you mean 'edge.port'?");
    CHECK(fault_of({{"zzzzzzzzzzzz", "1", "beckon.toml:3"}}) ==
          "beckon.toml:3: unknown option 'zzzzzzzzzzzz'");
    CHECK(fault_of({{"endpoint", "5", "beckon.toml:3"}}) ==
          "beckon.toml:3: 'endpoint' is a table of options, [endpoint], and has no value of its "
          "own");
}

TEST_CASE("the error about a value names the allowed values") {
    CHECK(fault_of({{"edge.port", "70000", "--edge-port"}}) ==
          "--edge-port: edge.port = '70000': not a whole number from 0 to 65535 (allowed: 0 to "
          "65535)");
    CHECK_THAT(fault_of({{"embedded.sync", "sometimes", "x"}}),
               Catch::Contains("not one of always | never"));
    CHECK_THAT(fault_of({{"endpoint.url", "push.example.org/path", "x"}}),
               Catch::Contains("not an origin"));
    CHECK_THAT(fault_of({{"tiers", "5s,1s", "x"}}), Catch::Contains("rising"));
    for (const auto& path : {std::string{"push"}, std::string{"/a b"}, std::string{"/a?b"},
                             "/" + std::string(127, 'a')}) {
        CHECK_THAT(fault_of({{"edge.path", path, "x"}}), Catch::Contains("it begins with /"));
    }
    CHECK_THAT(fault_of({{"endpoint.tls_key", "key.pem", "x"}}), Catch::Contains("give both"));
}

TEST_CASE("an address of others that can be none is refused") {
    const auto fault = [](const char* name, const std::string& text) {
        return fault_of({{name, text, "x"}});
    };
    for (const auto* text : {"foo", "foo:", "foo:0", "foo:65536", "foo:8082x", ":8082", "::1:8082",
                             "ws://foo:8082", "foo:8082/"}) {
        CAPTURE(text);
        CHECK_THAT(fault("edge.link_address", text), Catch::Contains("it is host:port"));
    }
    for (const auto* text : {"edge-1:8082", "10.0.0.7:1", "[::1]:8082", ""}) {
        CAPTURE(text);
        CHECK(fault("edge.link_address", text).empty());
    }
    CHECK_THAT(fault("console.retry_urls", "http://retry:8081,foo"),
               Catch::Contains("no origin") || Catch::Contains("not an origin"));
    CHECK(fault("console.retry_urls", "http://retry:8081,https://other").empty());
}

TEST_CASE("an origin that no browser sends is refused") {
    const auto fault = [](const std::string& text) {
        return fault_of({{"edge.allowed_origins", text, "x"}});
    };
    CHECK_THAT(fault("nonsense"), Catch::Contains("which is no origin"));
    CHECK_THAT(fault("https://app.example.org/"),
               Catch::Contains("browsers send it as https://app.example.org"));
    CHECK_THAT(fault("https://APP.example.org:443"),
               Catch::Contains("browsers send it as https://app.example.org"));
    CHECK_THAT(fault("https://app.example.org/path"), Catch::Contains("not an origin"));
    CHECK(fault("https://app.example.org:8443, null, moz-extension://1b2c-3d").empty());
}

TEST_CASE("an origin is kept as senders' URL parsers write it, without its scheme's own port") {
    for (const auto& [text, kept] : std::vector<std::pair<std::string, std::string>>{
             {"https://push.example.org:443/", "https://push.example.org"},
             {"http://push.example.org:80", "http://push.example.org"},
             {"https://push.example.org:80", "https://push.example.org:80"},
             {"https://push.example.org:8443", "https://push.example.org:8443"},
             {"HTTPS://Push.Example.ORG", "https://push.example.org"},
             {"https://xn--psh-hoa.example/", "https://xn--psh-hoa.example"},
             {"http://[::1]:8082", "http://[::1]:8082"},
             {"http://my_service:8082", "http://my_service:8082"},
             {"https://push.example.org.", "https://push.example.org."}}) {
        Config config;
        Sources sources;
        CHECK(apply({{"endpoint.url", text, "x"}}, config, sources).empty());
        CHECK(config.endpoint.public_url == kept);
    }
}

TEST_CASE("an origin that no sender can use is refused and says why") {
    for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
             {"https://p\xc3\xbcsh.example", "as DNS has it (xn--"},
             {"https://push.example:99999", "from 1 to 65535"},
             {"https://push.example:0", "from 1 to 65535"},
             {"https://me@push.example", "user info"},
             {"https://push.example/path", "no path"},
             {"https://push.example?x", "no path"},
             {"https://push.example#x", "fragment"},
             {"https://push..example", "no host name"},
             {"https://push%20.example", "no host name"},
             {"https://push,example", "no host name"},
             {"https://" + std::string(64, 'a') + ".example", "no host name"},
             {"https://push .example", "blanks"},
             {"https://", "host is missing"},
             {"ftp://push.example", "http"},
             {"wss://push.example", "http:// or https://"},
             {"push.example", "no scheme"},
             {"http://0.0.0.0:8082", "is an address to listen on"}}) {
        CAPTURE(text);
        CHECK_THAT(fault_of({{"endpoint.url", text, "x"}}), Catch::Contains(why));
    }
}

TEST_CASE("all faults are reported, not only the first") {
    Config config;
    Sources sources;
    const auto faults = apply(
        {{"edge.port", "x", "a"}, {"nonsense.name", "1", "b"}, {"data", "", "c"}}, config, sources);
    CHECK(faults.size() == 3);
}

TEST_CASE("proxy_protocol needs trusted_proxies") {
    Config config = defaults_of(Reader::edge);
    config.endpoint.public_url = "https://push.example.org";
    config.edge.proxy_protocol = true;
    const auto faults = faults_of(config, Reader::edge);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].where == "edge.proxy_protocol");
    config.edge.trusted_proxies = {"10.0.0.0/8"};
    CHECK(faults_of(config, Reader::edge).empty());
}

TEST_CASE("a console that others reach needs a token, and a tool beside it does not") {
    for (const auto reader : {Reader::console, Reader::standalone}) {
        Config config = defaults_of(reader);
        config.kafka.bootstrap_servers = reader == Reader::console ? "kafka:9092" : "";
        config.endpoint.public_url = "https://push.example.org";
        config.console.host = "0.0.0.0";
        const auto faults = faults_of(config, reader);
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].where == "console.token_file");
    }
    Config config = defaults_of(Reader::running);
    config.console.host = "0.0.0.0";
    CHECK(faults_of(config, Reader::running).empty());
}

TEST_CASE("a broker's address that cannot be one is refused") {
    const auto faults = [](const std::string& servers) {
        Config config = defaults_of(Reader::retry);
        config.kafka.bootstrap_servers = servers;
        std::size_t found = 0;
        for (const auto& fault : faults_of(config, Reader::retry)) {
            CHECK(fault.where == "kafka.servers");
            ++found;
        }
        return found;
    };
    for (const char* good :
         {"127.0.0.1:9092", "kafka", "kafka-1:9092,kafka-2.internal:9093", "a_b:1, c:65535",
          "[::1]:9092", "[fe80::1%eth0]", "SASL_SSL://k:9093"}) {
        CAPTURE(good);
        CHECK(faults(good) == 0);
    }
    for (const char* wrong :
         {"9092", ":9092", "kafka:", "kafka:0", "kafka:99999", "kafka:9092x", "http://kafka:9092",
          "kafka/9092", "a b:9092", "[::1]9092", "k:1:2"}) {
        CAPTURE(wrong);
        CHECK(faults(wrong) == 1);
    }
    CHECK(faults("kafka:1,,9092") == 2);
}

TEST_CASE("a setting has an effect on the commands that read it") {
    CHECK_FALSE(has_effect("kafka.servers", Reader::standalone));
    CHECK_FALSE(has_effect("partitions", Reader::edge));
    CHECK(has_effect("partitions", Reader::topics));
    CHECK_FALSE(has_effect("edge.port", Reader::endpoint));
    CHECK(has_effect("endpoint.url", Reader::edge));
    CHECK(has_effect("kafka.librdkafka.sasl.password", Reader::keys));
}

TEST_CASE("a setting that nothing with this log reads is without effect there") {
    for (const auto* name :
         {"kafka.acks", "edge.zone", "console.retry_urls", "retry.max_runtime"}) {
        CAPTURE(name);
        CHECK_FALSE(has_effect_beside(name, Reader::standalone));
        CHECK(has_effect_beside(name, Reader::endpoint));
    }
    CHECK_FALSE(has_effect_beside("embedded.sync", Reader::endpoint));
    for (const auto role : {Reader::standalone, Reader::endpoint, Reader::console}) {
        for (const auto* name : {"edge.port", "ops.port", "partitions", "retry.port"}) {
            CAPTURE(name, role_name(role));
            CHECK(has_effect_beside(name, role));
        }
    }
}

TEST_CASE("a public URL must be given wherever others could not use the address") {
    const auto fault = [](const std::vector<RawValue>& values, Reader reader) {
        Config config = defaults_of(reader);
        Sources sources;
        const auto faults = apply(values, config, sources, reader);
        return faults.empty() ? std::string{} : faults[0].where + ": " + faults[0].what;
    };
    CHECK(fault({}, Reader::standalone).empty());
    CHECK_THAT(fault({{"endpoint.host", "0.0.0.0", "x"}}, Reader::standalone),
               Catch::Contains("endpoint.url: must be given"));
    CHECK_THAT(fault({{"edge.host", "::", "x"}}, Reader::standalone),
               Catch::Contains("endpoint.url: must be given"));
    CHECK_THAT(fault({}, Reader::edge), Catch::Contains("endpoint.url: must be given"));
    CHECK(fault({{"endpoint.url", "https://push.example.org", "x"}}, Reader::edge).empty());
    for (const char* any : {"http://0.0.0.0:8082", "http://[::]:8082"}) {
        CHECK_THAT(fault({{"endpoint.url", any, "x"}}, Reader::edge),
                   Catch::Contains("an address to listen on"));
    }
}

TEST_CASE("the defaults of two roles on one host do not collide") {
    const auto endpoint = defaults_of(Reader::endpoint);
    const auto edge = defaults_of(Reader::edge);
    CHECK(endpoint.data != edge.data);
    CHECK(endpoint.ops.port != edge.ops.port);
}
