#include "edge/broadcast/broadcast_fold.hpp"

#include "core/base64url.hpp"
#include "core/hmac.hpp"
#include "core/logger.hpp"

#include <algorithm>
#include <utility>

namespace beckon::edge {

namespace {

const log::TopicPartition kBroadcasts{log::Topic::kBroadcasts, 0};

fold::Options fold_options(const core::NodeId& node) {
    fold::Options options;
    options.folder = "edge";
    options.inputs = {kBroadcasts};
    options.node = node;
    return options;
}

}  // namespace

BroadcastFold::BroadcastFold(const core::NodeId& node, Context context)
    : context_(std::move(context)),
      publisher_(context_.log.open_publisher(context_.executor)),
      fold_(fold_options(node), {context_.log, *publisher_, context_.executor, context_.clock},
            *this) {
    fold_.start();
}

BroadcastFold::~BroadcastFold() = default;

void BroadcastFold::set(const BroadcastSet& broadcast,
                        std::function<void(const core::Result<void>&)> done) {
    const bool same =
        now_.complete && now_.version_of(broadcast.id) == broadcast.version.value_or("");
    if (same) return done({});
    fold_.publisher().publish(kBroadcasts, encode(broadcast),
                              [done = std::move(done)](const core::Result<log::Appended>& result) {
                                  if (!result) return done(core::fail(result.error()));
                                  done({});
                              });
}

void BroadcastFold::replay(fold::InputIndex, const core::RecordView& record) {
    if (auto broadcast = decode_broadcast(record)) put(*broadcast);
}

void BroadcastFold::put(const BroadcastSet& broadcast) {
    const auto& [id, version] = broadcast;
    if (!version) {
        changed_ |= now_.versions.erase(id) > 0;
        return;
    }
    const bool is_new = !now_.versions.contains(id);
    if (is_new && now_.versions.size() >= kBroadcastsMax) {
        core::log_warn("edge", "broadcast_left_out",
                       {{"id", id}, {"broadcasts_max", kBroadcastsMax}});
        return;
    }
    now_.versions.insert_or_assign(id, *version);
    changed_ = true;
}

core::Result<void> BroadcastFold::clear() {
    now_ = {};
    return {};
}

void BroadcastFold::turn_ended() {
    if (!now_.complete || !std::exchange(changed_, false)) return;
    context_.changed(std::make_shared<const Broadcasts>(now_));
}

void BroadcastFold::caught_up() {
    now_.complete = true;
    changed_ = false;
    context_.changed(std::make_shared<const Broadcasts>(now_));
}

namespace {

std::string token_of(const core::KeyRing::Key& key) {
    const auto secret = core::KeyRing::derive(key, "beckon/broadcasts/1");
    return core::base64url({reinterpret_cast<const char*>(secret.data()), secret.size()});
}

}  // namespace

/// From the oldest key, which a process that started before the ring was rotated has too.
std::string broadcast_token(const core::KeyRing& keys) { return token_of(keys.keys().front()); }

bool is_broadcast_token(const core::KeyRing& keys, std::string_view token) {
    return std::any_of(keys.keys().begin(), keys.keys().end(),
                       [&](const auto& key) { return core::same_proof(token_of(key), token); });
}

}  // namespace beckon::edge
