#include "cli/config/config.hpp"

#include "support/temp_dir.hpp"

#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

using namespace beckon::cli;
using namespace std::chrono_literals;

namespace {

std::string fault_of(const std::vector<RawValue>& values) {
    Config config;
    Sources sources;
    const auto faults = apply(values, config, sources);
    return faults.empty() ? "" : faults[0].where + ": " + faults[0].what;
}

std::string set(const Setting& setting, const char* text) {
    const auto done = setting.set(text);
    return done ? setting.get() : "refused";
}

}  // namespace

TEST_CASE("later sources win over earlier ones, and each value knows where it came from",
          "[config]") {
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

TEST_CASE("an unknown option names the nearest known one", "[config]") {
    CHECK(fault_of({{"edge.prot", "1", "beckon.toml:3"}}) ==
          "beckon.toml:3: unknown option 'edge.prot'; did you mean 'edge.port'?");
    CHECK(fault_of({{"zzzzzzzzzzzz", "1", "beckon.toml:3"}}) ==
          "beckon.toml:3: unknown option 'zzzzzzzzzzzz'");
}

TEST_CASE("a value that is not allowed says what is", "[config]") {
    CHECK(fault_of({{"edge.port", "70000", "--edge-port"}}) ==
          "--edge-port: edge.port = '70000': not a whole number from 0 to 65535 (allowed: 0 to "
          "65535)");
    CHECK_THAT(fault_of({{"embedded.sync", "sometimes", "x"}}),
               Catch::Contains("not one of always | interval | never"));
    CHECK_THAT(fault_of({{"endpoint.drain", "5s", "x"}, {"stop_timeout", "5s", "x"}}),
               Catch::Contains("stop_timeout: must be longer than endpoint.drain"));
    CHECK_THAT(fault_of({{"endpoint.url", "push.example.org/path", "x"}}),
               Catch::Contains("not an origin"));
    CHECK_THAT(fault_of({{"tiers", "5s,1s", "x"}}), Catch::Contains("rising"));
    CHECK_THAT(fault_of({{"endpoint.tls_key", "key.pem", "x"}}), Catch::Contains("give both"));
}

TEST_CASE("an origin does not name its scheme's own port", "[config]") {
    const auto origin = [](const char* text) {
        Config config;
        Sources sources;
        CHECK(apply({{"endpoint.url", text, "x"}}, config, sources).empty());
        return config.endpoint.public_url;
    };
    CHECK(origin("https://push.example.org:443/") == "https://push.example.org");
    CHECK(origin("http://push.example.org:80") == "http://push.example.org");
    CHECK(origin("https://push.example.org:80") == "https://push.example.org:80");
    CHECK(origin("https://push.example.org:8443") == "https://push.example.org:8443");
}

TEST_CASE("all faults are reported, not only the first", "[config]") {
    Config config;
    Sources sources;
    const auto faults = apply(
        {{"edge.port", "x", "a"}, {"nonsense.name", "1", "b"}, {"data", "", "c"}}, config, sources);
    CHECK(faults.size() == 3);
}

TEST_CASE("durations and sizes need to be what they say", "[config]") {
    CHECK(parse_duration("300ms").value() == 300ms);
    CHECK(parse_duration("2min").value() == 120s);
    CHECK(parse_duration("7d").value() == 168h);
    for (const char* bad : {"5", "", "s", "-1s", "1.5s", "99999999999999999999s", "1y"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_duration(bad).has_value());
    }
    CHECK(parse_bytes("64MiB").value() == 64U << 20);
    CHECK(parse_bytes("5630").value() == 5630);
    CHECK_FALSE(parse_bytes("64 MB").has_value());
    CHECK(duration_text(90s) == "90s");
    CHECK(duration_text(1h) == "1h");
    CHECK(bytes_text(128U << 20) == "128MiB");
}

TEST_CASE("every setting takes back the text that it shows", "[config]") {
    Config config;
    for (const auto& setting : settings_of(config)) {
        CAPTURE(setting.name);
        const auto text = setting.get();
        CHECK(setting.set(text).has_value());
        CHECK(setting.get() == text);
        CHECK_FALSE(setting.help.empty());
        CHECK_FALSE(setting.allowed.empty());
    }
}

TEST_CASE("tables of a file become dotted names with their lines", "[config]") {
    const beckon::test::TempDir directory;
    const auto file = directory / "beckon.toml";
    std::ofstream{file} << "partitions = 4\n[edge]\nport = 1234\n[kafka.librdkafka]\n"
                           "\"security.protocol\" = \"ssl\"\n[endpoint]\nself_signed = true\n"
                           "extra_audiences = [\"https://a\", \"https://b\"]\n";
    const auto values = read_config_file(file);
    REQUIRE(values.has_value());
    Config config;
    Sources sources;
    CHECK(apply(*values, config, sources).empty());
    CHECK(config.layout.partitions == 4);
    CHECK(config.edge.port == 1234);
    CHECK(config.endpoint_self_signed);
    CHECK(config.endpoint.extra_audiences == std::vector<std::string>{"https://a", "https://b"});
    CHECK(config.kafka.librdkafka.at("security.protocol") == "ssl");
    CHECK(sources.at("edge.port") == file.string() + ":3");
}

TEST_CASE("a file that is missing or not TOML is named", "[config]") {
    const beckon::test::TempDir directory;
    const auto missing = read_config_file(directory / "none.toml");
    REQUIRE_FALSE(missing.has_value());
    CHECK_THAT(missing.error().message, Catch::Contains("none.toml"));
    std::ofstream{directory / "bad.toml"} << "a = \n";
    const auto bad = read_config_file(directory / "bad.toml");
    REQUIRE_FALSE(bad.has_value());
    CHECK_THAT(bad.error().message, Catch::Contains("bad.toml:1: not TOML"));
}

TEST_CASE("the environment is read by the names of the settings", "[config]") {
    Config config;
    const char* const environment[] = {"PATH=/bin", "BECKON_EDGE_HELLO_TIMEOUT=7s",
                                       "BECKON_CONFIG=beckon.toml", nullptr};
    const auto read = read_environment(environment, settings_of(config));
    CHECK(read.config_file == "beckon.toml");
    CHECK(read.ignored.empty());
    Sources sources;
    CHECK(apply(read.values, config, sources).empty());
    CHECK(config.edge.hello_timeout == 7s);
}

TEST_CASE("a variable that is no setting is named and ignored", "[config]") {
    Config config;
    const char* const environment[] = {"BECKON_EGDE_PORT=1", nullptr};
    const auto read = read_environment(environment, settings_of(config));
    CHECK(read.values.empty());
    REQUIRE(read.ignored.size() == 1);
    CHECK_THAT(read.ignored[0].what, Catch::Contains("did you mean 'BECKON_EDGE_PORT'?"));
}

TEST_CASE("what Kubernetes sets for a service of that name does not stop a start", "[config]") {
    Config config;
    const char* const environment[] = {"BECKON_EDGE_PORT=tcp://10.0.0.1:8080",
                                       "BECKON_EDGE_SERVICE_HOST=10.0.0.1",
                                       "BECKON_EDGE_PORT_8080_TCP_ADDR=10.0.0.1", nullptr};
    const auto read = read_environment(environment, settings_of(config));
    CHECK(read.values.empty());
    REQUIRE(read.ignored.size() == 3);
    for (const auto& ignored : read.ignored) {
        CAPTURE(ignored.where);
        CHECK_THAT(ignored.what, Catch::Contains("Kubernetes"));
    }
}

TEST_CASE("a secret for librdkafka comes from a variable or a file", "[config]") {
    const beckon::test::TempDir directory;
    std::ofstream{directory / "password"} << "hunter2\n";
    const std::string file =
        "BECKON_KAFKA_LIBRDKAFKA_SSL_KEY_PASSWORD_FILE=" + (directory / "password").string();
    const char* const environment[] = {"BECKON_KAFKA_LIBRDKAFKA_SASL_PASSWORD=hunter3",
                                       file.c_str(), nullptr};
    Config config;
    Sources sources;
    const auto read = read_environment(environment, settings_of(config));
    CHECK(apply(read.values, config, sources).empty());
    CHECK(config.kafka.librdkafka.at("sasl.password") == "hunter3");
    CHECK(config.kafka.librdkafka.at("ssl.key.password") == "hunter2");
    CHECK_THAT(print_config(config, sources), !Catch::Contains("hunter"));
    CHECK_THAT(fault_of({{"kafka.librdkafka.sasl.password.file", "/does/not/exist", "x"}}),
               Catch::Contains("cannot read /does/not/exist"));
}

TEST_CASE("what config print shows is TOML that gives the same configuration", "[config]") {
    const beckon::test::TempDir directory;
    Config config;
    Sources sources;
    REQUIRE(apply({{"edge.port", "3000", "x"},
                   {"endpoint.extra_audiences", "https://a,https://b", "x"},
                   {"kafka.librdkafka.client.rack", "a \"b\"", "x"},
                   {"kafka.servers", "k:9092", "x"}},
                  config, sources)
                .empty());
    std::ofstream{directory / "printed.toml"} << print_config(config, sources);
    const auto values = read_config_file(directory / "printed.toml");
    REQUIRE(values.has_value());
    Config again;
    Sources from;
    CHECK(apply(*values, again, from).empty());
    CHECK(print_config(again, sources) == print_config(config, sources));
}

TEST_CASE("a directory is no config file", "[config]") {
    const beckon::test::TempDir directory;
    const auto read = read_config_file(directory.path());
    REQUIRE_FALSE(read.has_value());
    CHECK_THAT(read.error().message, Catch::Contains("is a directory"));
}

TEST_CASE("a public URL must be given wherever others could not use the address", "[config]") {
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

TEST_CASE("two roles on one host collide in nothing by default", "[config]") {
    const auto endpoint = defaults_of(Reader::endpoint);
    const auto edge = defaults_of(Reader::edge);
    CHECK(endpoint.data != edge.data);
    CHECK(endpoint.ops.port != edge.ops.port);
}

TEST_CASE("a setting has an effect where something reads it", "[config]") {
    CHECK_FALSE(has_effect("kafka.servers", Reader::standalone));
    CHECK_FALSE(has_effect("partitions", Reader::edge));
    CHECK(has_effect("partitions", Reader::topics));
    CHECK_FALSE(has_effect("edge.port", Reader::endpoint));
    CHECK(has_effect("endpoint.url", Reader::edge));
    CHECK(has_effect("kafka.librdkafka.sasl.password", Reader::keys));
}

TEST_CASE("secrets are masked, and what gives up a promise is said", "[config]") {
    Config config;
    Sources sources;
    CHECK(
        apply({{"kafka.librdkafka.sasl.password", "hunter2", "x"}, {"embedded.sync", "never", "x"}},
              config, sources)
            .empty());
    const auto text = print_config(config, sources);
    CHECK_THAT(text, !Catch::Contains("hunter2"));
    CHECK_THAT(text, Catch::Contains("gives up promise 1 for a power loss"));
}

TEST_CASE("a bool takes only true and false", "[config]") {
    bool value = false;
    const auto setting = bool_setting("x", value, "help");
    CHECK(set(setting, "true") == "true");
    CHECK(set(setting, "1") == "refused");
    CHECK(set(setting, "yes") == "refused");
}

TEST_CASE("the committed reference of all options is what the code says", "[config]") {
    std::ifstream file{BECKON_SOURCE_DIR "/docs/configuration.md"};
    const std::string committed{std::istreambuf_iterator<char>{file}, {}};
    CHECK(committed == config_reference());  // beckon config reference > docs/configuration.md
}
