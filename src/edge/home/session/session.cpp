#include "edge/home/session/session.hpp"

#include "core/base64url.hpp"
#include "edge/protocol/frames.hpp"

#include <algorithm>
#include <utility>

namespace beckon::edge {

Effects Session::on(const ClientCommand& command, core::Tokens& tokens, core::MonoTime now) {
    Effects effects;
    window_.take_acked();  // drops those of an earlier frame that were not taken
    effects.command = command.index();
    std::visit(core::Overloaded{
                   [&](const Register& request) { apply(effects, request); },
                   [&](const Unregister& request) { apply(effects, request); },
                   [&](const Ack& ack) { apply(effects, ack, tokens); },
                   [&](const Nack& nack) {
                       effects.codes.push_back(answer_code(nack));
                       const auto key = window_.nacked(nack.version);
                       if (key) effects.nacked.push_back({*key, end_of_nack(nack.code)});
                   },
                   [&](const Ping&) { ping(effects, now); },
               },
               command);
    return effects;
}

void Session::ping(Effects& effects, core::MonoTime now) {
    if (pinged_ && now - *pinged_ < options_.client_ping_interval_min) {
        effects.close = closing::kPingTooSoon;
        return;
    }
    pinged_ = now;
    effects.frames.push_back({ping_frame(), std::nullopt});
}

/// False: too many are under way, and the client receives the status 500.
bool Session::may_change(Effects& effects, std::string refusal) {
    if (changes_in_flight_ >= kChangesInFlightMax) {
        effects.frames.push_back({std::move(refusal), std::nullopt});
        return false;
    }
    ++changes_in_flight_;
    return true;
}

/// Neither the length of the key nor its curve is checked: autopush does not either.
void Session::apply(Effects& effects, const Register& frame) {
    std::optional<core::Sha256> vapid;
    if (frame.key) {
        const auto key = core::parse_base64url(*frame.key);
        if (!key) {
            effects.frames.push_back(
                {register_frame(frame.channel, kStatusBadKey, kEndpointRefused), std::nullopt});
            return;
        }
        vapid = core::sha256(*key);
    }
    if (!may_change(effects, register_frame(frame.channel, kStatusFailed, ""))) return;
    effects.changes.push_back({ChannelChange::Kind::add, frame.channel, vapid});
}

void Session::apply(Effects& effects, const Unregister& frame) {
    effects.codes.push_back(answer_code(frame));
    if (!may_change(effects, unregister_frame(frame.channel, kStatusFailed))) return;
    effects.changes.push_back(
        {ChannelChange::Kind::remove, frame.channel, std::nullopt,
         frame.code == Unregister{}.code ? std::nullopt : std::optional{frame.code}});
}

/// A version that is not under way here may still be pending: it was sent on an earlier connection.
/// A version names the client of its message, so that no client can finish another one's.
void Session::apply(Effects& effects, const Ack& frame, core::Tokens& tokens) {
    for (const auto& update : frame.updates) {
        effects.codes.push_back(answer_code(update));
        auto key = window_.acked(update.version);
        if (!key) {
            const auto named = tokens.open_message(update.version);
            if (!named || named->uaid != uaid) continue;
            key = named->key;
        }
        effects.acked.push_back(
            {*key, end_of_ack(update.code),
             update.code == AckUpdate{}.code ? std::nullopt : std::optional{update.code}});
    }
}

/// The next reading begins with the first message that waits.
void Session::waits(core::Offset offset) {
    unsent_from_ = behind_ ? std::min(unsent_from_, offset) : offset;
    behind_ = true;
}

Effects Session::on(const core::NotificationAccepted& message, core::Offset offset,
                    core::MonoTime now) {
    Effects effects;
    if (message.ttl_s == 0) {
        effects.frames.push_back({notification_frame(message), message.key});
        return effects;
    }
    if (!live() || window_.capacity(now) == 0) {
        waits(offset);
        return effects;
    }
    auto text = notification_frame(message);
    if (!window_.has_bytes_for(text.size())) {
        waits(offset);
        return effects;
    }
    window_.sent(message.key, message.message_id, text.size(), now);
    effects.frames.push_back({std::move(text), message.key});
    return effects;
}

void Session::finished(const core::MessageKey& message) {
    window_.forget(message);
    window_.durable(message);
}

bool Session::wants_read(core::MonoTime now) { return !live() && window_.worth_a_read(now); }

store::DrainCursor& Session::cursor(core::Offset until) {
    if (!draining_) {
        draining_ = true;
        behind_ = false;
        cursor_ = {.topics = true, .after = -1, .until = until, .from = unsent_from_};
    }
    return cursor_;
}

Effects Session::on(const store::MessageView& message, core::MonoTime now) {
    Effects effects;
    if (before_unfit_ || window_.contains(message.key)) return effects;
    auto text = notification_frame(message);
    if (!window_.has_bytes_for(text.size())) {
        before_unfit_ = cursor_;
        before_unfit_->topics = message.topic && !message.topic->empty();
        before_unfit_->after = message.offset - 1;
        return effects;
    }
    window_.sent(message.key, message.message_id, text.size(), now);
    effects.frames.push_back({std::move(text), message.key});
    return effects;
}

bool Session::read_over(bool done) {
    if (before_unfit_) {
        cursor_ = *std::exchange(before_unfit_, std::nullopt);
        return true;
    }
    if (done) draining_ = false;
    return false;
}

}  // namespace beckon::edge
