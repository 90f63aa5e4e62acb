#include "inspect/delivery/delivery_pages.hpp"

#include "core/json_text.hpp"
#include "core/log_names.hpp"
#include "core/tokens.hpp"
#include "inspect/log/log_service.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::inspect {

namespace {

using nlohmann::json;
using ops::Page;

constexpr int kBadRequest = 400;
constexpr int kUnauthorized = 401;
constexpr int kNotFound = 404;

Page page_of(const edge::DeliveryNow& now) {
    json body{{"served", now.served}, {"connected", now.connected}, {"sent", nullptr}};
    if (now.sent) body["sent"] = now.sent->time_since_epoch().count();
    return {.body = core::json_text(body)};
}

Page page_of(const edge::ClientNow& now) {
    json body{{"served", now.served},         {"connected", now.attached_since.has_value()},
              {"attached_since", nullptr},    {"edge", nullptr},
              {"unanswered", now.unanswered}, {"sent", json::array()}};
    if (now.attached_since) {
        body["attached_since"] = now.attached_since->time_since_epoch().count();
        body["edge"] = now.edge.text;
    }
    for (const auto& [key, at] : now.sent) {
        body["sent"].push_back(
            {{"message", core::log_name(key)}, {"at", at.time_since_epoch().count()}});
    }
    return {.body = core::json_text(body)};
}

/// The proofs and tokens that the page makes from the ring; of the port's thread.
struct Keys {
    explicit Keys(const std::shared_ptr<const core::KeyRing>& ring) : proofs(*ring), tokens(ring) {}
    const LogProofs proofs;
    core::Tokens tokens;
};

void answer_client(const edge::Edge& edge, const ops::LateRequest& request, ops::PageDone done) {
    const auto uaid = core::parse_uuid(ops::value_in(request.query, "uaid"));
    if (!uaid) return done(ops::refusal(kBadRequest, "uaid must be a UUID"));
    edge.client_now(core::Uaid{*uaid},
                    [done = std::move(done)](const auto& now) { done(page_of(now)); });
}

void answer(const edge::Edge& edge, Keys& keys, const ops::LateRequest& request,
            ops::PageDone done) {
    const bool of_client = request.path == "/client";
    if (request.path != "/now" && !of_client) {
        return done(ops::refusal(kNotFound, "there are /delivery/now and /delivery/client"));
    }
    if (!keys.proofs.admits(request.authorization)) {
        return done(
            ops::refusal(kUnauthorized, "this page needs a proof of this installation's key ring"));
    }
    if (of_client) return answer_client(edge, request, std::move(done));
    const auto id = ops::value_in(request.query, "message");
    if (id.empty()) return done(ops::refusal(kBadRequest, "which message?"));
    const auto message = keys.tokens.open_message(id);
    if (!message) return done(ops::refusal(kBadRequest, "not a message of this installation"));
    edge.delivery_now(*message, [done = std::move(done)](const auto& now) { done(page_of(now)); });
}

}  // namespace

ops::Mount mount_delivery_pages(ops::OpsServer& ops, const edge::Edge& edge,
                                const std::shared_ptr<const core::KeyRing>& keys) {
    return ops.mount_late("/delivery", [&edge, ours = std::make_shared<Keys>(keys)](
                                           const ops::LateRequest& request, ops::PageDone done) {
        answer(edge, *ours, request, std::move(done));
    });
}

}  // namespace beckon::inspect
