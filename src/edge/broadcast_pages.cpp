#include "edge/broadcast_pages.hpp"

#include "core/json_text.hpp"
#include "edge/broadcast/broadcast_fold.hpp"

#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::edge {

namespace {

using nlohmann::json;
using ops::Page;

Page list(const edge::Edge& edge) {
    const auto now = edge.broadcasts();
    return {.body =
                core::json_text(json{{"complete", now->complete}, {"broadcasts", now->versions}})};
}

Page change(edge::Edge& edge, const core::KeyRing& keys, const ops::Query& query,
            edge::BroadcastSet broadcast) {
    if (!is_broadcast_token(keys, ops::value_in(query, "token"))) {
        return ops::refusal(401, "the token is not the one that `beckon broadcasts token` prints");
    }
    if (const auto good = check(broadcast); !good) return ops::refusal(400, good.error().message);
    const auto now = edge.broadcasts();
    const bool is_new = broadcast.version && now->version_of(broadcast.id).empty();
    if (is_new && now->versions.size() >= edge::kBroadcastsMax) {
        return ops::refusal(409, "there are " + std::to_string(edge::kBroadcastsMax) +
                                     " broadcasts, and no more are allowed: delete one");
    }
    edge.set_broadcast(std::move(broadcast));
    return {.status = 202, .body = "{}"};
}

}  // namespace

ops::Mount mount_broadcast_pages(ops::OpsServer& ops, edge::Edge& edge,
                                 std::shared_ptr<const core::KeyRing> keys) {
    return ops.mount("/broadcasts", [&edge, keys = std::move(keys)](std::string_view path,
                                                                    const ops::Query& query) {
        if (path == "/list") return list(edge);
        const std::string id{ops::value_in(query, "id")};
        if (path == "/set") {
            return change(edge, *keys, query,
                          {.id = id, .version = std::string{ops::value_in(query, "version")}});
        }
        if (path == "/delete") {
            return change(edge, *keys, query, {.id = id, .version = std::nullopt});
        }
        return ops::refusal(404,
                            "there are /broadcasts/list, /broadcasts/set and /broadcasts/delete");
    });
}

}  // namespace beckon::edge
