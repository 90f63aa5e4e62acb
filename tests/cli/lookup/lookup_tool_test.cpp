#include "cli/lookup/lookup_tool.hpp"

#include "cli/process/process.hpp"
#include "core/log_names.hpp"
#include "core/tokens.hpp"
#include "support/temp_dir.hpp"

#include <sstream>

#include <catch2/catch.hpp>

using namespace beckon;

TEST_CASE("beckon message names what log lines call a message and its client", "[cli]") {
    const test::TempDir directory;
    cli::Config config;
    config.key_ring = directory / "keys.json";
    const auto ring = core::KeyRing::generate();
    REQUIRE(ring.save(*config.key_ring));
    core::Tokens tokens{std::make_shared<const core::KeyRing>(ring)};
    const core::Uaid uaid{core::random_uuid4()};
    const auto key = core::new_message_key(core::SystemClock{}.wall());
    const auto client = "client=" + core::log_name(uaid);

    std::ostringstream out;
    const auto id = tokens.seal_message({uaid, key});
    cli::look_up(config, "https://push.example.org/m/" + id, out);
    cli::look_up(config, id, out);
    const auto line = "message=" + core::log_name(key) + " " + client + "\n";
    CHECK(out.str() == line + line);

    out.str("");
    const core::ChannelId channel{core::random_uuid4()};
    cli::look_up(config, "https://push.example.org/wpush/" + tokens.seal_endpoint(uaid, channel),
                 out);
    CHECK(out.str() == client + " channel=" + core::to_dashed(channel) + "\n");

    CHECK_THROWS_AS(cli::look_up(config, "https://push.example.org/m/nonsense", out),
                    cli::StartupError);
}
