#include "console/pages/attempt_poller.hpp"

#include "client/api_client.hpp"
#include "core/json_text.hpp"
#include "retry/api/owner_token.hpp"

#include <condition_variable>
#include <utility>

#include <nlohmann/json.hpp>
#include <pthread.h>

namespace beckon::console {

namespace {

using Json = nlohmann::json;

constexpr std::chrono::milliseconds kTimeout{2'000};

template <class Value>
Value member(const Json& json, const char* name) {
    const auto found = json.find(name);
    if (found == json.end()) return {};
    if constexpr (std::is_same_v<Value, std::string>) {
        return found->is_string() ? found->get<std::string>() : Value{};
    } else {
        return found->is_number_integer() ? found->get<Value>() : Value{};
    }
}

AttemptSummary summary_of(const Json& json) {
    AttemptSummary out{.attempts = member<std::uint64_t>(json, "attempts"),
                       .delivered = member<std::uint64_t>(json, "delivered"),
                       .at = {},
                       .outcome = {},
                       .why = {},
                       .answer = {}};
    const auto last = json.find("last");
    if (last == json.end() || !last->is_object()) return out;
    out.at = member<std::string>(*last, "at");
    out.outcome = member<std::string>(*last, "outcome");
    out.status = member<std::int64_t>(*last, "status");
    out.why = member<std::string>(*last, "why");
    if (out.outcome != "delivered") out.answer = member<std::string>(*last, "answer");
    return out;
}

}  // namespace

std::map<std::string, AttemptSummary> parse_attempts(const std::string& json) {
    std::map<std::string, AttemptSummary> out;
    const auto page = core::parse_json(json);
    if (!page.is_object() || !page.contains("webhooks")) return out;
    for (const auto& one : page["webhooks"]) {
        if (!one.is_object()) continue;
        auto id = member<std::string>(one, "webhook");
        if (!id.empty()) out.emplace(std::move(id), summary_of(one));
    }
    return out;
}

AttemptPoller::AttemptPoller(Options options, std::shared_ptr<const core::KeyRing> keys)
    : options_(std::move(options)), keys_(std::move(keys)) {
    if (options_.origins.empty()) return;
    thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

AttemptPoller::~AttemptPoller() = default;

void AttemptPoller::use_owners(std::set<std::string> owners) {
    const std::scoped_lock lock{mutex_};
    owners_ = std::move(owners);
}

std::optional<AttemptSummary> AttemptPoller::of(const std::string& webhook) const {
    const std::scoped_lock lock{mutex_};
    const auto found = known_.find(webhook);
    if (found == known_.end()) return std::nullopt;
    return found->second;
}

std::map<std::string, AttemptSummary> AttemptPoller::ask(const std::string& origin,
                                                         const std::string& owner) const {
    const auto token =
        retry::make_token(keys_->keys().front(), {.owner = owner, .publishes_to_all = false});
    if (!token) return {};
    client::ApiClient api{{.origin = origin,
                           .token = *token,
                           .ca_file = {},
                           .insecure = options_.insecure,
                           .timeout = kTimeout,
                           .patience = std::chrono::milliseconds{0}}};
    const auto answer = api.ask({.path = "/attempts"});
    return answer && answer->good() ? parse_attempts(answer->body)
                                    : std::map<std::string, AttemptSummary>{};
}

void AttemptPoller::run(const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "console-retry");
    std::mutex waiting;
    std::condition_variable_any over;
    while (!stop.stop_requested()) {
        std::set<std::string> owners;
        {
            const std::scoped_lock lock{mutex_};
            owners = owners_;
        }
        std::map<std::string, AttemptSummary> reported;
        for (const auto& origin : options_.origins) {
            for (const auto& owner : owners) {
                if (stop.stop_requested()) return;
                reported.merge(ask(origin, owner));
            }
        }
        {
            const std::scoped_lock lock{mutex_};
            known_ = std::move(reported);
        }
        std::unique_lock lock{waiting};
        over.wait_for(lock, stop, kEvery, [] { return false; });
    }
}

}  // namespace beckon::console
