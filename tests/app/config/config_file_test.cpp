#include "app/config/config_values.hpp"
#include "support/temp_dir.hpp"

#include <fstream>

#include <catch2/catch.hpp>

using namespace beckon::app;

TEST_CASE("tables of a file become dotted names with their lines") {
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

TEST_CASE("the faults of a file come in its order") {
    const beckon::test::TempDir directory;
    const auto file = directory / "beckon.toml";
    std::ofstream{file} << "tiers = 1\n[retry]\nport = \"x\"\nhots = \"a\"\n[edge]\nzoom = 1\n"
                           "[endpoint]\nport = -1\nhost.name = \"a\"\n";
    const auto values = read_config_file(file);
    REQUIRE(values.has_value());
    Config config;
    Sources sources;
    std::vector<std::string> places;
    for (const auto& fault : apply(*values, config, sources)) places.push_back(fault.where);
    const auto line = [&](int number) { return file.string() + ":" + std::to_string(number); };
    CHECK(places == std::vector{line(1), line(3), line(4), line(6), line(8), line(9)});
}

TEST_CASE("a file that is missing or not TOML is named") {
    const beckon::test::TempDir directory;
    const auto missing = read_config_file(directory / "none.toml");
    REQUIRE_FALSE(missing.has_value());
    CHECK_THAT(missing.error().message, Catch::Contains("none.toml"));
    std::ofstream{directory / "bad.toml"} << "a = \n";
    const auto bad = read_config_file(directory / "bad.toml");
    REQUIRE_FALSE(bad.has_value());
    CHECK_THAT(bad.error().message, Catch::Contains("bad.toml:1: not TOML"));
}

TEST_CASE("a directory is no config file") {
    const beckon::test::TempDir directory;
    const auto read = read_config_file(directory.path());
    REQUIRE_FALSE(read.has_value());
    CHECK_THAT(read.error().message, Catch::Contains("is a directory"));
}
