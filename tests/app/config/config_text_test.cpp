#include "app/config/config_text.hpp"

#include "support/temp_dir.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

using namespace beckon::app;

TEST_CASE("the output of config print is TOML that gives the same configuration") {
    const beckon::test::TempDir directory;
    Config config;
    Sources sources;
    REQUIRE(apply({{"edge.port", "3000", "x"},
                   {"endpoint.extra_audiences", "https://a,https://b", "x"},
                   {"kafka.librdkafka.client.rack", "a \"b\"\t\n\x7f", "x"},
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

TEST_CASE("secrets are masked, and a warning names the promise that is given up") {
    Config config;
    Sources sources;
    CHECK(
        apply({{"kafka.librdkafka.sasl.password", "hunter2", "x"}, {"embedded.sync", "never", "x"}},
              config, sources)
            .empty());
    const auto text = print_config(config, sources);
    CHECK_THAT(text, !Catch::Contains("hunter2"));
    CHECK_THAT(text, Catch::Contains("gives up the promise of a 201 for a power loss"));
}

TEST_CASE("a setting for tests is in no reference, and is printed where it is set") {
    Config config;
    Sources sources;
    CHECK_THAT(config_reference(), !Catch::Contains("`test."));
    CHECK_THAT(print_config(config, sources), !Catch::Contains("hello_timeout"));
    REQUIRE(apply({{"test.hello_timeout", "7s", "x"}}, config, sources).empty());
    CHECK_THAT(print_config(config, sources),
               Catch::Contains("[test]\nhello_timeout = \"7s\"  # x"));
}

TEST_CASE("the committed reference of all options agrees with the code") {
    std::ifstream file{BECKON_SOURCE_DIR "/docs/configuration.md"};
    const std::string committed{std::istreambuf_iterator<char>{file}, {}};
    const auto wanted = config_reference();
    const auto [is, should] =
        std::mismatch(committed.begin(), committed.end(), wanted.begin(), wanted.end());
    INFO(
        "docs/configuration.md is stale: `./dev check`, or `beckon config reference` into it. It "
        "differs from here on: "
        << std::string(should, std::find(should, wanted.end(), '\n')));
    CHECK((is == committed.end() && should == wanted.end()));
}
