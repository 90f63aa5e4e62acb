#include "sim/story.hpp"

#include <array>

namespace beckon::sim {

using namespace std::chrono_literals;

namespace {

constexpr int kRounds = 100;

constexpr std::array kFaults = {
    Act::kill_edge,   Act::kill_edge,    Act::stop_edge,        Act::freeze_edge,
    Act::mute_edge,   Act::start_edge,   Act::kill_endpoint,    Act::freeze_endpoint,
    Act::log_away,    Act::lose_reports, Act::lose_reports,     Act::fail_publishes,
    Act::hold_reader, Act::hold_reader,  Act::compact,          Act::cut_link,
    Act::reset_link,  Act::slow_links,   Act::edge_without_log, Act::endpoint_without_log,
    Act::reject_link};

}  // namespace

Story story_of(std::uint64_t seed, Clocks clocks) {
    const bool hostile = clocks == Clocks::hostile;
    StoryWriter<Act> story{seed};
    for (int round = 0; round < kRounds; ++round) {
        if (hostile && story.chance(2)) story.add(Act::step_clock);
        if (hostile && story.chance(2)) story.add(Act::silence);
        story.add(Act::client);
        if (story.chance(70)) story.add(Act::send);
        if (story.chance(4)) story.add(Act::take_back);
        if (story.chance(hostile ? 10 : 20)) story.add_faults(kFaults);
        story.wait(story.up_to(story.chance(10) ? core::Duration{3s} : core::Duration{300ms}));
    }
    return story.take();
}

std::string_view to_string(Act act) {
    constexpr std::array<std::string_view, kActs> kNames = {
        "client",         "send",         "take back",  "kill edge",        "stop edge",
        "freeze edge",    "mute edge",    "start edge", "kill endpoint",    "freeze endpoint",
        "fail publishes", "lose reports", "log away",   "edge without log", "endpoint without log",
        "hold reader",    "compact",      "cut link",   "reset link",       "slow links",
        "reject link",    "step clock",   "silence"};
    return kNames[static_cast<std::size_t>(act)];
}

}  // namespace beckon::sim
