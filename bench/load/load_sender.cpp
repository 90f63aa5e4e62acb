#include "bench/load/load_sender.hpp"

#include <utility>

namespace beckon::bench {

void LoadSender::on_open() {
    used_at_ = mono_now();
    events_.on_sender_ready(*this);
}

bool LoadSender::post(std::string_view target, std::uint32_t sequence) {
    if (!open()) return false;
    thread_local std::string request;
    request.assign("POST ");
    request.append(target).append(plan_.head).append(plan_.body);
    stamp(request.data() + request.size() - plan_.body.size(), {plan_.run, sequence});
    in_flight_.push_back(sequence);
    send(request);
    return true;
}

std::size_t LoadSender::on_data(std::string_view data) {
    std::size_t used = 0;
    while (open() && used < data.size()) {
        HttpReply reply;
        const auto state = parse_reply(data.substr(used), reply);
        if (state == ReplyState::incomplete) break;
        if (state == ReplyState::broken || in_flight_.empty()) {
            drop();
            on_end();
            return 0;
        }
        used += reply.size;
        const std::uint32_t sequence = in_flight_.front();
        in_flight_.pop_front();
        used_at_ = mono_now();
        const bool keep = reply.keep_alive;
        if (!keep) drop();
        events_.on_reply(*this, sequence, reply.status);
        if (!keep) {
            on_end();
            return 0;
        }
    }
    return used;
}

void LoadSender::on_end() {
    const auto unanswered = std::exchange(in_flight_, {});
    events_.on_sender_end(*this, unanswered);
}

}  // namespace beckon::bench
