#include "console/web/login.hpp"

#include "core/hmac.hpp"
#include "core/ids.hpp"

#include <algorithm>

namespace beckon::console {

namespace {

/// 244 random bits.
std::string random_text() {
    return core::to_hex(core::random_uuid4()) + core::to_hex(core::random_uuid4());
}

/// Forgets the entries that are over, and if there are `most` the one that ends first.
template <class Map>
void make_place(Map& kept, std::size_t most, core::MonoTime now) {
    std::erase_if(kept, [now](const auto& one) { return one.second.end <= now; });
    if (kept.size() < most) return;
    kept.erase(std::ranges::min_element(kept, {}, [](const auto& one) { return one.second.end; }));
}

}  // namespace

Login::Login(std::string token, const core::Clock& clock)
    : token_(std::move(token)),
      clock_(clock),
      wrong_({.limit = kWrongMax, .window = std::chrono::minutes{1}}) {}

Login::Answer Login::try_token(std::string_view token, const net::PeerAddress& peer) {
    if (needed() && core::same_proof(token_, token)) {
        return Answer::good;
    }
    return wrong_.try_spend(peer.limit_key(), clock_.mono()) ? Answer::too_often : Answer::wrong;
}

std::string Login::new_session() {
    const auto now = clock_.mono();
    make_place(sessions_, kSessionsMax, now);
    auto session = random_text();
    sessions_.emplace(core::sha256(session), Session{now + kSession});
    return session;
}

bool Login::is_session(std::string_view session) const {
    const auto found = sessions_.find(core::sha256(session));
    return found != sessions_.end() && found->second.end > clock_.mono();
}

void Login::end_session(std::string_view session) { sessions_.erase(core::sha256(session)); }

std::string Login::confirmation(Shown plan) {
    const auto now = clock_.mono();
    make_place(plans_, kPlansMax, now);
    plan.end = now + kConfirmation;
    auto secret = random_text();
    plans_.emplace(core::sha256(secret), std::move(plan));
    return secret;
}

std::optional<std::string> Login::confirmed(std::string_view session, std::string_view act,
                                            std::string_view confirmation) {
    const auto found = plans_.find(core::sha256(confirmation));
    if (!needed() || found == plans_.end()) return std::nullopt;
    auto& plan = found->second;
    if (plan.end <= clock_.mono() || plan.session != session || plan.act != act) {
        return std::nullopt;
    }
    auto order = std::move(plan.order);
    plans_.erase(found);
    return order;
}

}  // namespace beckon::console
