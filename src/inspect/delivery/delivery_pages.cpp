#include "inspect/delivery/delivery_pages.hpp"

#include "core/json_text.hpp"
#include "core/log_names.hpp"
#include "inspect/log/log_service.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::inspect {

namespace {

using nlohmann::json;
using ops::Page;

Page page_of(const edge::DeliveryNow& now) {
    json body{{"served", now.served},
              {"connected", now.connected},
              {"sent", nullptr},
              {"on_earlier_connection", now.on_earlier_connection},
              {"answered", now.answered}};
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

std::optional<core::Bytes16> id_in(const ops::LateRequest& request, std::string_view name) {
    return core::parse_uuid(ops::value_in(request.query, name));
}

void answer(edge::Edge& edge, const LogProofs& proofs, const ops::LateRequest& request,
            ops::PageDone done) {
    const bool of_client = request.path == "/client";
    const bool removes = request.path == "/remove";
    if (request.path != "/now" && !of_client && !removes) {
        return done(ops::refusal(net::kNotFound,
                                 "there are /delivery/now, /delivery/client and /delivery/remove"));
    }
    if (!proofs.admits(request.authorization)) {
        return done(ops::refusal(net::kUnauthorized,
                                 "this page needs a proof of this installation's key ring"));
    }
    const auto uaid = id_in(request, "uaid");
    if (!uaid) return done(ops::refusal(net::kBadRequest, "uaid must be a UUID"));
    if (of_client) {
        return edge.client_now(core::Uaid{*uaid},
                               [done = std::move(done)](const auto& now) { done(page_of(now)); });
    }
    if (removes) {
        return edge.remove_client(core::Uaid{*uaid}, [done = std::move(done)](const auto& outcome) {
            done({.body = core::json_text(
                      json{{"served", outcome.served}, {"removed", outcome.removed}})});
        });
    }
    // Not the id of the 201: the newest key of a ring may be unknown here yet.
    const auto key = id_in(request, "message");
    if (!key) return done(ops::refusal(net::kBadRequest, "message must be a message's key in hex"));
    edge.delivery_now({core::Uaid{*uaid}, core::MessageKey{*key}},
                      [done = std::move(done)](const auto& now) { done(page_of(now)); });
}

}  // namespace

ops::Mount mount_delivery_pages(ops::OpsServer& ops, edge::Edge& edge,
                                const std::shared_ptr<const core::KeyRing>& keys) {
    return ops.mount_late("/delivery", [&edge, proofs = std::make_shared<LogProofs>(*keys)](
                                           const ops::LateRequest& request, ops::PageDone done) {
        answer(edge, *proofs, request, std::move(done));
    });
}

}  // namespace beckon::inspect
