#include "tools/message/message_tool.hpp"

#include "app/process/process.hpp"
#include "core/log_names.hpp"
#include "core/tokens.hpp"
#include "support/temp_dir.hpp"

#include <chrono>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;

namespace {

constexpr core::Timestamp kAccepted{std::chrono::milliseconds{1'700'000'000'000}};
constexpr core::Timestamp kLater{std::chrono::milliseconds{1'700'000'001'500}};
const std::string kFirstLines = "The verdict.\naccepted  2023-11-14T22:13:20.000Z\n";

inspect::TraceStep step(core::Timestamp at, std::string what) {
    return {.at = at, .topic = "notifications", .offset = {}, .what = std::move(what), .why = "."};
}

inspect::MessageTrace trace(inspect::TraceOutcome outcome,
                            std::vector<inspect::TraceStep> after = {}) {
    inspect::MessageTrace trace;
    trace.outcome = outcome;
    trace.verdict = "The verdict.";
    trace.steps = std::move(after);
    trace.steps.insert(trace.steps.begin(), step(kAccepted, "accepted"));
    return trace;
}

std::string waiting(const tools::EdgePage& edge) {
    return tools::message_text(trace(inspect::TraceOutcome::waiting), edge);
}

}  // namespace

TEST_CASE("beckon message prints the names of a message and its client in log lines") {
    const test::TempDir directory;
    app::Config config;
    config.key_ring = directory / "keys.json";
    const auto ring = core::KeyRing::generate();
    REQUIRE(ring.save(*config.key_ring));
    core::Tokens tokens{std::make_shared<const core::KeyRing>(ring)};
    const core::Uaid uaid{core::random_uuid4()};
    const auto key = core::new_message_key(core::SystemClock{}.wall());
    const auto client = "client=" + core::log_name(uaid);

    std::ostringstream out;
    const auto id = tokens.seal_message({uaid, key});
    for (const auto& text : {"https://push.example.org/m/" + id, id}) {
        CHECK(tools::run_message(config, {.id = text, .names = true}, out) == 0);
    }
    const auto line = "message=" + core::log_name(key) + " " + client + "\n";
    CHECK(out.str() == line + line);

    out.str("");
    const core::ChannelId channel{core::random_uuid4()};
    const auto url = "https://push.example.org/wpush/" + tokens.seal_endpoint(uaid, channel);
    CHECK(tools::run_message(config, {.id = url, .names = true}, out) == 0);
    CHECK(out.str() == client + " channel=" + core::to_dashed(channel) + "\n");

    const tools::MessageOptions nonsense{.id = "https://push.example.org/m/nonsense",
                                         .names = true};
    CHECK_THROWS_AS(tools::run_message(config, nonsense, out), app::StartupError);
}

TEST_CASE("beckon message shows the state of a waiting message at its edge") {
    CHECK(waiting({.page = {{"connected", true}, {"sent", 1'700'000'001'500}}}) ==
          kFirstLines +
              "sent      2023-11-14T22:13:21.500Z, and the client has not answered yet\n");
    CHECK(waiting({.page = {{"connected", true}, {"sent", nullptr}}}) ==
          kFirstLines +
              "sent      not since this edge became the client's home: the client is connected, "
              "and has "
              "not answered earlier ones\n");
    CHECK(waiting({.page = {{"connected", true}, {"answered", true}}}) ==
          kFirstLines + "sent      yes, and it was answered: its end is on the way to the log\n");
    CHECK(waiting({.page = {{"connected", false}}}) ==
          kFirstLines +
              "sent      not since this edge became the client's home: the client is not "
              "connected\n");
    CHECK(waiting({.why_not = "nobody answers"}) ==
          kFirstLines + "sent      not known: nobody answers\n");
}

TEST_CASE("beckon message says when a message ended, and when a tracked one was sent") {
    using inspect::TraceOutcome;
    const auto end = "finished  2023-11-14T22:13:21.500Z\n";
    CHECK(tools::message_text(trace(TraceOutcome::finished, {step(kLater, "finished")}),
                              std::nullopt) == kFirstLines + end);
    CHECK(
        tools::message_text(
            trace(TraceOutcome::finished, {step(kLater, "transmitted"), step(kLater, "finished")}),
            std::nullopt) == kFirstLines + "sent      2023-11-14T22:13:21.500Z\n" + end);
}
