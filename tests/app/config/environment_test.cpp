#include "app/config/config_text.hpp"
#include "app/config/fault_of.hpp"
#include "support/temp_dir.hpp"

#include <fstream>

#include <catch2/catch.hpp>

using namespace beckon::app;
using beckon::test::fault_of;
using namespace std::chrono_literals;

TEST_CASE("the environment is read by the names of the settings") {
    Config config;
    const char* const environment[] = {"PATH=/bin", "BECKON_EDGE_PING_INTERVAL=7s",
                                       "BECKON_CONFIG=beckon.toml", nullptr};
    const auto read = read_environment(environment, settings_of(config));
    CHECK(read.config_file == "beckon.toml");
    CHECK(read.ignored.empty());
    Sources sources;
    CHECK(apply(read.values, config, sources).empty());
    CHECK(config.edge.ping_interval == 7s);
}

TEST_CASE("a variable that is no setting is named and ignored") {
    Config config;
    const char* const environment[] = {"BECKON_EGDE_PORT=1", nullptr};
    const auto read = read_environment(environment, settings_of(config));
    CHECK(read.values.empty());
    REQUIRE(read.ignored.size() == 1);
    CHECK_THAT(read.ignored[0].what, Catch::Contains("did you mean 'BECKON_EDGE_PORT'?"));
}

TEST_CASE("variables that Kubernetes sets for a service of that name do not stop a start") {
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

TEST_CASE("a secret for librdkafka comes from a variable or a file") {
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
    CHECK(config.kafka.librdkafka_files ==
          std::map<std::string, std::string>{
              {"ssl.key.password", (directory / "password").string()}});
    CHECK_THAT(print_config(config, sources), !Catch::Contains("hunter"));
    CHECK_THAT(fault_of({{"kafka.librdkafka.sasl.password.file", "/does/not/exist", "x"}}),
               Catch::Contains("cannot read /does/not/exist"));
}

TEST_CASE("the console's token of the image is no unknown name") {
    Config config;
    const char* const environment[] = {"BECKON_CONSOLE_TOKEN=a token of the test", nullptr};
    const auto read = read_environment(environment, settings_of(config));
    REQUIRE(read.ignored.size() == 1);
    CHECK_THAT(read.ignored[0].what, Catch::Contains("console.token_file"));
}

TEST_CASE("an empty variable counts as unset for settings of every type") {
    Config config;
    std::vector<std::string> texts{"BECKON_CONFIG=", "BECKON_CONSOLE_TOKEN=", "BECKON_UNKNOWN=",
                                   "BECKON_KAFKA_LIBRDKAFKA_SASL_PASSWORD="};
    for (const auto& setting : settings_of(config)) texts.push_back(variable_of(setting) + "=");
    std::vector<const char*> environment;
    for (const auto& text : texts) environment.push_back(text.c_str());
    environment.push_back(nullptr);
    const auto read = read_environment(environment.data(), settings_of(config));
    CHECK(read.values.empty());
    CHECK(read.ignored.empty());
}
