#pragma once

#include "retry/role/retry_node.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::test {

/// A log in memory, and receivers, for processes with the role that come and go.
struct NodeWorld {
    explicit NodeWorld(core::Partition count) : partitions(count) {}
    void run_for(core::Duration span) { executor.run_for(span); }

    const core::Partition partitions;
    ManualClock clock;
    SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log =
        log::make_memory_log({.seed = 3,
                              .partitions = partitions,
                              .clock = &clock,
                              .append_delay_max = std::chrono::milliseconds{3}});
    log::EventLog* through = log.get();  ///< the log of the processes
    std::shared_ptr<const core::KeyRing> keys =
        std::make_shared<core::KeyRing>(core::KeyRing::generate());

    int answered = 200;                 ///< by every receiver,
    std::map<std::string, int> status;  ///< but for those that are named here by their URLs
    std::string said = "said";
    std::map<std::string, std::vector<std::string>> received;  ///< URL → delivery ids
    std::vector<std::string> bodies;
};

/// One process with the role. Destroying it is a kill.
struct Process {
    Process(NodeWorld& w, const std::string& name, std::vector<std::chrono::seconds> tiers,
            std::optional<core::MonoTime> stop_at = {})
        : world(w),
          node({.deliveries = {.partitions = w.partitions,
                               .table = *retry::TierTable::from(std::move(tiers)),
                               .node = {name},
                               .stop_at = stop_at},
                .dead_letters_max = 100},
               {.log = *w.through,
                .executor = w.executor,
                .clock = w.clock,
                .keys = w.keys,
                .threads = {{.executor = w.executor,
                             .send = [this](const retry::HttpRequest& request,
                                            auto done) { send(request, done); }}},
                .ready = [this](bool is, const std::string& why) {
                    ready = is;
                    why_not = why;
                }}) {
        node.start();
        beat();
    }
    void beat() {
        world.executor.post_after(std::chrono::seconds{1}, [this, weak = std::weak_ptr{alive}] {
            if (weak.expired()) return;
            node.still_alive();
            node.measure();
            beat();
        });
    }
    void send(const retry::HttpRequest& request, std::function<void(retry::HttpAnswer)> done) {
        world.executor.post_after(
            std::chrono::milliseconds{5}, [this, request, done, weak = std::weak_ptr{alive}] {
                if (weak.expired()) return;
                world.received[request.url].push_back(id_of(request));
                world.bodies.push_back(request.body);
                const auto found = world.status.find(request.url);
                retry::HttpAnswer answer{
                    .end = retry::HttpAnswer::End::answered,
                    .status = found == world.status.end() ? world.answered : found->second,
                    .body = world.said,
                    .took = std::chrono::milliseconds{5}};
                if (answer.status == 302) answer.location = "https://elsewhere.example/";
                done(std::move(answer));
            });
    }
    static std::string id_of(const retry::HttpRequest& request) {
        constexpr std::string_view kName = "webhook-id: ";
        for (const auto& header : request.headers) {
            if (header.starts_with(kName)) return header.substr(kName.size());
        }
        return "";
    }
    bool add_webhook(const std::string& id, const std::string& type) {
        retry::Webhook webhook;
        webhook.id = id;
        webhook.owner = "shop";
        webhook.url = "http://" + id + ".example/";
        webhook.types = {type};
        webhook.secrets = {std::string(32, 's')};
        bool done = false;
        node.put_webhook(webhook, [&](const auto& written) { done = written.has_value(); });
        world.run_for(std::chrono::seconds{1});
        return done;
    }
    void post(const std::string& id, const std::string& type) {
        const nlohmann::json event{
            {"specversion", "1.0"}, {"id", id}, {"source", "/shop"}, {"type", type}};
        node.post_event(*retry::parse_structured(event.dump()), "shop", [](const auto&) {});
    }

    NodeWorld& world;
    std::shared_ptr<int> alive = std::make_shared<int>(0);
    bool ready = false;
    std::string why_not;
    retry::RetryNode node;
};

}  // namespace beckon::test
