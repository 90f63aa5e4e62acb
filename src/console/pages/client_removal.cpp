#include "console/pages/client_removal.hpp"

#include "core/decimal.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/log_names.hpp"
#include "core/logger.hpp"

#include <chrono>
#include <optional>

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

constexpr int kActDone = 200;
constexpr int kNoClient = 404;
constexpr int kNotAnswered = 503;
constexpr int kBadWish = 400;
constexpr std::size_t kSoughtMax = 800;  ///< of an order
/// Within a stop's time: a thread waits for the home as long.
constexpr std::chrono::milliseconds kHomeWithin{8'000};
constexpr const char* kNobodyHasIt = "nothing of this installation has this name";

nlohmann::json sentences(const inspect::ClientState& state) {
    auto does = nlohmann::json::array();
    if (!state.client) {
        does.push_back(
            "The log has no such client any more. Messages that a removal has left are finished.");
        return does;
    }
    does.push_back("The client ends with " +
                   core::counted(state.channels.size(), "channel", "channels") + " and " +
                   core::counted(state.waiting.size(), "waiting message", "waiting messages") +
                   ": senders get 410 from then on.");
    if (!state.client->router_data.empty()) does.push_back("The token of its bridge is forgotten.");
    does.push_back(
        "If it connects again it is told that it is unknown, and registers as a new client. This "
        "cannot be undone.");
    return does;
}

}  // namespace

Answer ClientRemoval::plan(const std::string& sought) const {
    const auto client = finder_.client_of(sought);
    if (!client) return refused(kNotAnswered, client.error().message);
    if (!*client) return refused(kNoClient, kNobodyHasIt);
    const auto state = finder_.state_now(**client);
    if (!state) return refused(kNotAnswered, state.error().message);
    return {kActDone,
            core::json_text(nlohmann::json{{"does", sentences(*state)}, {"possible", true}})};
}

Answer ClientRemoval::run(const std::string& sought, const std::string& by) const {
    const auto client = finder_.client_of(sought);
    if (!client) return refused(kNotAnswered, client.error().message);
    if (!*client) return refused(kNoClient, kNobodyHasIt);
    const auto answer =
        homes_.ask_home("/delivery/remove?uaid=" + core::to_hex(**client), kHomeWithin);
    const auto page = core::parse_json(answer.value_or(""));
    const auto* said = core::find_member(page, "removed");
    const bool removed = said && said->is_boolean() && said->get<bool>();
    core::log_info("console", "client_removal",
                   {{"by", by}, {"client", core::log_name(**client)}, {"removed", removed}});
    if (!answer) return refused(kNotAnswered, answer.error().message);
    if (!removed) {
        return refused(kNotAnswered, "its home has not ended it, and may still do so: check again");
    }
    return {kActDone, core::json_text(
                          nlohmann::json{{"done",
                                          "The client is gone. Its messages and channels get their "
                                          "tombstones within seconds."}})};
}

Act ClientRemoval::act(SearchWorkers& workers) {
    const auto planned = workers.ask([this](const auto& of) { return plan(of.at("q")); });
    const auto executed =
        workers.ask([this](const auto& of) { return run(of.at("q"), of.at("by")); });
    return {[planned](const std::string& wanted, const std::function<void(Plan)>& then) {
                const auto sought = core::text_member(core::parse_json(wanted), "q");
                if (sought.empty() || sought.size() > kSoughtMax) {
                    return then({refused(kBadWish, R"($ must be {"q": what names the client})")});
                }
                planned({{"q", sought}}, [then, sought](Answer answer) {
                    const bool possible = answer.status == kActDone;
                    then({std::move(answer), possible ? std::optional{sought} : std::nullopt});
                });
            },
            [executed](const std::string& order, const std::string& by, const Reply& reply) {
                executed({{"q", order}, {"by", by}}, reply);
            }};
}

}  // namespace beckon::console
