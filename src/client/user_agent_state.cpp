#include "client/private_file.hpp"
#include "client/user_agent.hpp"
#include "core/base64url.hpp"
#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace beckon::client {

using core::Fault;
using nlohmann::json;

namespace {

constexpr int kStateVersion = 1;

json to_json(const Channel& channel) {
    return {{"id", channel.id},
            {"endpoint", channel.endpoint},
            {"privateKey", core::base64url(channel.keys.key.private_scalar())},
            {"auth", core::base64url(channel.keys.auth)},
            {"recent", channel.recent}};
}

Result<Channel> parse_channel(const json& object) {
    const auto scalar = core::parse_base64url(object.at("privateKey").get<std::string>());
    const auto auth = core::parse_base64url(object.at("auth").get<std::string>());
    if (!scalar || !auth || auth->size() != kAuthBytes) {
        return core::fail(Fault::invalid, "a channel's privateKey or auth is not base64url");
    }
    auto key = P256Key::from_private(*scalar);
    if (!key) return core::fail(key.error());
    return Channel{object.at("id").get<std::string>(), object.at("endpoint").get<std::string>(),
                   ReceiverKeys{std::move(*key), *auth},
                   object.at("recent").get<std::deque<std::string>>()};
}

/// Errors: invalid, with the reason.
Result<UserAgentState> parse_state(const json& object) try {
    if (!object.is_object() || object.value("version", json{}) != kStateVersion) {
        return core::fail(Fault::invalid,
                          "it has no version, or another than " + std::to_string(kStateVersion));
    }
    UserAgentState state{
        object.at("url").get<std::string>(), object.at("uaid").get<std::string>(), {}};
    for (const json& entry : object.at("channels")) {
        auto channel = parse_channel(entry);
        if (!channel) return core::fail(channel.error());
        state.channels.emplace(channel->id, std::move(*channel));
    }
    return state;
} catch (const json::exception& error) {  // a member is missing, or has a wrong type
    return core::fail(Fault::invalid, error.what());
}

}  // namespace

Result<UserAgentState> load_state(const std::filesystem::path& file) {
    const auto text = read_text_file(file);
    if (!text && text.error().fault == Fault::not_found) return UserAgentState{};
    if (!text) return core::fail(text.error());
    const auto object = core::parse_json(*text);
    Result<UserAgentState> state = core::fail(Fault::invalid, "it is no JSON");
    if (!object.is_discarded()) state = parse_state(object);
    if (state) return state;
    return core::fail(Fault::invalid,
                      file.string() + " is not a state of `listen`: " + state.error().message);
}

std::optional<Result<Subscription>> subscription_in_state(std::string_view text) {
    const json object = core::parse_json(text);
    if (!object.is_object() || !object.contains("channels") || !object.contains("uaid")) {
        return std::nullopt;
    }
    const auto state = parse_state(object);
    if (!state) {
        return core::fail(Fault::invalid, "not a state of `listen`: " + state.error().message);
    }
    if (state->channels.empty()) {
        return core::fail(Fault::not_found,
                          "this state of `listen` has no subscription yet: let `listen` "
                          "connect with it first");
    }
    return state->channels.begin()->second.subscription();
}

Result<void> save_state(const std::filesystem::path& file, const UserAgentState& state) {
    json channels = json::array();
    for (const auto& [id, channel] : state.channels) channels.push_back(to_json(channel));
    const json object{{"version", kStateVersion},
                      {"url", state.url},
                      {"uaid", state.uaid},
                      {"channels", std::move(channels)}};
    return write_private_file(file, core::json_text(object, 2) + '\n');
}

}  // namespace beckon::client
