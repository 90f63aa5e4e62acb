#include "cli/console/finder.hpp"

#include "core/clock.hpp"
#include "core/log_names.hpp"
#include "core/tokens.hpp"

#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

namespace beckon::cli {

namespace {

using nlohmann::json;

constexpr int kNotFound = 404;
constexpr std::size_t kTextMax = 2'048;

json fact(const char* name, std::string value) {
    return {{"name", name}, {"value", std::move(value)}};
}

console::Answer found(const char* kind, json facts) {
    return {200, json{{"kind", kind}, {"facts", std::move(facts)}}.dump()};
}

std::string trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return {};
    return std::string{text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1)};
}

core::Tokens::Form form_of(const std::string& url) {
    if (url.find("/wpush/v1/") != std::string::npos) return core::Tokens::Form::v1;
    if (url.find("/wpush/v2/") != std::string::npos) return core::Tokens::Form::v2;
    return core::Tokens::Form::any;
}

void add_client(json& facts, const core::Uaid& client, core::Partition partitions) {
    facts.push_back(fact("client in log lines", core::log_name(client)));
    facts.push_back(fact("partition", std::to_string(core::partition_of(client, partitions))));
}

std::optional<console::Answer> as_endpoint(core::Tokens& tokens, const std::string& text,
                                           core::Partition partitions) {
    const auto token = text.substr(text.rfind('/') + 1);
    const auto endpoint = tokens.open_endpoint(token, form_of(text), core::SystemClock{}.wall());
    if (!endpoint) return std::nullopt;
    json facts = json::array({fact("channel", core::to_dashed(endpoint->channel))});
    add_client(facts, endpoint->uaid, partitions);
    facts.push_back(fact("bound to a VAPID key", endpoint->vapid_sha256.empty() ? "no" : "yes"));
    return found("endpoint URL", std::move(facts));
}

std::optional<console::Answer> as_message(core::Tokens& tokens, const std::string& text,
                                          core::Partition partitions) {
    const auto message = tokens.open_message(text.substr(text.rfind('/') + 1));
    if (!message) return std::nullopt;
    json facts = json::array({fact("message in log lines", core::log_name(message->key))});
    add_client(facts, message->uaid, partitions);
    return found("message", std::move(facts));
}

std::optional<console::Answer> as_client(const std::string& text, core::Partition partitions) {
    const auto uuid = core::parse_uuid(text);
    if (!uuid) return std::nullopt;
    json facts = json::array();
    add_client(facts, core::Uaid{*uuid}, partitions);
    return found("UAID", std::move(facts));
}

}  // namespace

Finder::Finder(std::shared_ptr<const core::KeyRing> keys, core::Partition partitions)
    : keys_(std::move(keys)), partitions_(partitions) {}

console::Answer Finder::find(const std::string& given) const {
    const auto text = trimmed(given.substr(0, kTextMax));
    core::Tokens tokens{keys_};
    // A token of an endpoint may be as long as a message's: each is opened by what it seals.
    if (auto answer = as_endpoint(tokens, text, partitions_)) return *answer;
    if (auto answer = as_message(tokens, text, partitions_)) return *answer;
    if (auto answer = as_client(text, partitions_)) return *answer;
    return {kNotFound,
            json{{"error",
                  "this is no endpoint URL, message URL, message id or UAID of this installation"}}
                .dump()};
}

}  // namespace beckon::cli
