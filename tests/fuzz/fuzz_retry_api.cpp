// Requests of the retry role's API, over the log in memory: each is answered once, nobody without
// an owner's token sees or changes anything, no owner changes another's webhooks, and every attempt
// that follows a posted event can be sent. In the input "$T" is a token of the owner `shop`, "$A" a
// token that publishes to all owners, "$W" a webhook of `shop`, "$O" a webhook of another owner,
// and "$D" a dead letter of `shop`. One role serves many inputs, until an input has changed the
// webhooks or the dead letter that the next ones name.
#include "fuzz/conversation.hpp"
#include "retry/api/api_handler.hpp"
#include "retry/api/owner_token.hpp"
#include "retry/api/webhook_body.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::retry;
using namespace std::chrono_literals;
using test::require;
using Json = nlohmann::json;

namespace {

constexpr net::RequestLimits kLimits{
    .header_bytes_max = 2'048, .body_bytes_max = 4'096, .extra_prefix = Api::kExtraPrefix};
constexpr core::Partition kPartitions = 1;
constexpr int kInputsMax = 2'000;
constexpr std::size_t kWebhooksMax = 20;
constexpr std::string_view kGone = "https://gone.example/";

/// Runs what is due when its clock is advanced.
class TimedExecutor final : public core::Executor {
public:
    explicit TimedExecutor(test::ManualClock& clock) : clock_(clock) {}
    void post(Task task) override { post_after(core::Duration::zero(), std::move(task)); }
    void post_after(core::Duration delay, Task task) override {
        tasks_.emplace(std::pair{clock_.mono() + delay, next_++}, std::move(task));
    }
    void run_for(core::Duration span) {
        const auto until = clock_.mono() + span;
        while (!tasks_.empty() && tasks_.begin()->first.first <= until) {
            auto first = tasks_.extract(tasks_.begin());
            if (first.key().first > clock_.mono())
                clock_.advance(first.key().first - clock_.mono());
            first.mapped()();
        }
        clock_.advance(until - clock_.mono());
    }

private:
    test::ManualClock& clock_;
    std::uint64_t next_ = 0;
    std::map<std::pair<core::MonoTime, std::uint64_t>, Task> tasks_;
};

struct World {
    World()
        : node({.deliveries = {.partitions = kPartitions,
                               .table = *TierTable::from({0s, 5s}),
                               .node = {"a"}}},
               {.log = *log,
                .executor = executor,
                .clock = clock,
                .keys = keys,
                .threads = {{.executor = executor, .send = send}},
                .ready = [](bool, const std::string&) {}}),
          api({}, node, clock, keys),
          handler(
              loop,
              [this](const ApiRequest& request, const Api::Reply& reply) {
                  answer(request, reply);
              },
              [](int) {}) {
        node.start();
        beat();
        executor.run_for(10s);
        token = *make_token(*keys, {.owner = "shop"});
        to_all = *make_token(*keys, {.owner = "shop", .publishes_to_all = true});
        webhook = made(token, "https://shop.example/");
        const auto gone = made(token, kGone);
        others = made(*make_token(*keys, {.owner = "other"}), "https://other.example/");
        ask(token, "/events",
            {{"specversion", "1.0"}, {"id", "e"}, {"source", "/s"}, {"type", "t"}});
        executor.run_for(2s);
        as_made = node.webhooks().find(webhook)->webhook;
        dead = delivery_id(
            scope_of({.source = "/s", .id = "e", .type = {}, .json = {}, .owner = "shop"}), "e",
            gone);
    }

    static void send(const HttpRequest& request, const std::function<void(HttpAnswer)>& done) {
        require(unsendable(request).empty());
        HttpAnswer answer;
        answer.end = HttpAnswer::End::answered;
        answer.status = request.url == kGone ? 410 : 200;
        done(std::move(answer));
    }
    void beat() {
        node.still_alive();
        executor.post_after(1s, [this] { beat(); });
    }
    /// Replies, after the log's writes and the first attempts that may have to come before.
    void answer(const ApiRequest& request, const Api::Reply& reply) {
        const auto replied = std::make_shared<bool>(false);
        api.handle(request, [replied, reply](net::HttpReply one) {
            *replied = true;
            reply(std::move(one));
        });
        for (int i = 0; i < 3'000 && !*replied; ++i) executor.run_for(10ms);
    }
    net::HttpReply ask(const std::string& by, const std::string& target, const Json& body) {
        net::HttpReply out;
        answer({.method = net::Method::post,
                .target = target,
                .authorization = "Bearer " + by,
                .content_type = "application/cloudevents+json",
                .ce = {},
                .body = body.dump()},
               [&out](net::HttpReply reply) { out = std::move(reply); });
        return out;
    }
    std::string made(const std::string& by, std::string_view url) {
        const auto reply = ask(by, "/webhooks", {{"url", url}, {"types", {"t"}}});
        require(reply.status == 201);
        return Json::parse(reply.body)["id"];
    }
    /// The other owner's webhook, which no request may change.
    Webhook kept_by_others() const { return node.webhooks().find(others)->webhook; }
    /// Whether an input would find the webhook and the dead letter that it may name, and little
    /// else.
    bool is_as_made() const {
        const auto* entry = node.webhooks().find(webhook);
        return inputs < kInputsMax && entry && entry->webhook == as_made && entry->state.enabled &&
               node.dead_letters().size() == 1 && node.webhooks().count_of("shop") <= kWebhooksMax;
    }

    test::ManualClock clock;
    TimedExecutor executor{clock};
    test::QueueExecutor loop;
    std::unique_ptr<log::MemoryLog> log =
        log::make_memory_log({.seed = 3, .partitions = kPartitions, .clock = &clock});
    std::shared_ptr<const core::KeyRing> keys =
        std::make_shared<core::KeyRing>(core::KeyRing::generate());
    RetryNode node;
    Api api;
    ApiHandler handler;
    std::string token, to_all, webhook, others, dead;
    Webhook as_made;
    int inputs = 0;
};

/// The input, with its placeholders replaced by tokens and ids.
std::string written(std::string_view text, const World& world) {
    const std::map<std::string_view, std::string> words{{"$T", world.token},
                                                        {"$A", world.to_all},
                                                        {"$W", world.webhook},
                                                        {"$O", world.others},
                                                        {"$D", world.dead}};
    std::string out;
    while (!text.empty()) {
        const auto word = words.find(text.substr(0, 2));
        out += word == words.end() ? std::string{text.front()} : word->second;
        text.remove_prefix(word == words.end() ? 1 : 2);
    }
    return out;
}

void check_page(const net::HttpReply& reply) {
    if (reply.status == 204) return require(reply.body.empty());
    const auto page = Json::parse(reply.body, nullptr, false);
    require(page.is_object());
    if (reply.status < 400) return;
    require(reply.header("Content-Type") == "application/problem+json");
    require(page["status"] == reply.status && !page["detail"].get<std::string>().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static std::unique_ptr<World> world;
    if (!world || !world->is_as_made()) {
        world.reset();
        world = std::make_unique<World>();
    }
    ++world->inputs;
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const bool knows_nothing =
        text.find("$T") == std::string_view::npos && text.find("$A") == std::string_view::npos;
    const auto before = world->kept_by_others();
    test::converse(world->handler, world->loop, kLimits, written(text, *world),
                   [&](const net::HttpRequest&, const net::HttpReply& reply) {
                       require(reply.status < 500 || reply.status == 503);
                       if (reply.header("Content-Type") == "application/yaml") return;
                       if (knows_nothing) require(reply.status == 401 || reply.status == 404);
                       check_page(reply);
                   });
    world->executor.run_for(50ms);  // first attempts
    require(world->kept_by_others() == before);
    return 0;
}
