#include "bench/load/load_client.hpp"

#include "core/ids.hpp"

namespace beckon::bench {

namespace {

/// Frames to send, one buffer for all clients of the thread: empty between events.
std::string& outgoing() {
    thread_local std::string buffer;
    return buffer;
}

}  // namespace

void LoadClient::connect(std::optional<std::uint32_t> source) {
    stage_ = Stage::upgrading;
    start(plan_.server, source);
}

void LoadClient::on_open() {
    std::string request = "GET " + plan_.target + " HTTP/1.1\r\nHost: " + plan_.authority +
                          "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          "Sec-WebSocket-Version: 13\r\n"
                          "Sec-WebSocket-Key: YmVja29uLWJlbmNoLTAwMA==\r\n"
                          "Sec-WebSocket-Protocol: push-notification\r\n\r\n";
    send(request);
}

void LoadClient::on_end() {
    events_.on_client_end(*this, stage_ == Stage::ready ? "connection lost" : "not let in");
}

void LoadClient::give_up(std::string_view reason) {
    drop();
    events_.on_client_end(*this, reason);
}

void LoadClient::send_frame(std::string_view text) {
    std::string frame;
    append_frame(frame, Opcode::text, text);
    send(frame);
}

std::size_t LoadClient::finish_upgrade(std::string_view data) {
    const auto end = data.find("\r\n\r\n");
    if (end == std::string_view::npos) return 0;
    if (!data.starts_with("HTTP/1.1 101")) {
        give_up("the upgrade was refused");
        return 0;
    }
    stage_ = Stage::greeting;
    std::string hello = R"({"messageType":"hello","use_webpush":true,"broadcasts":{})";
    if (!endpoint_.empty()) hello += R"(,"uaid":")" + uaid_ + '"';
    hello_sent_ = mono_now();
    send_frame(hello + '}');
    return end + 4;
}

std::size_t LoadClient::on_data(std::string_view data) {
    std::size_t used = 0;
    if (stage_ == Stage::upgrading) {
        used = finish_upgrade(data);
        if (used == 0) return 0;
    }
    outgoing().clear();
    while (open()) {
        const auto frame = parse_frame(data.substr(used));
        if (!frame) break;
        used += frame->size;
        switch (frame->opcode) {
            case Opcode::text: on_text(frame->payload); break;
            case Opcode::ping: append_frame(outgoing(), Opcode::pong, frame->payload); break;
            case Opcode::close: give_up("closed by the server"); return 0;
            case Opcode::binary:
            case Opcode::pong: break;
        }
    }
    if (!outgoing().empty()) send(outgoing());
    return used;
}

void LoadClient::on_text(std::string_view text) {
    switch (stage_) {
        case Stage::upgrading: break;
        case Stage::greeting: on_hello(text); break;
        case Stage::registering:
            // Messages from before a reconnect may come before the reply.
            if (json_text(text, "messageType") == "register") {
                on_register(text);
            } else {
                on_notification(text);
            }
            break;
        case Stage::ready: on_notification(text); break;
    }
}

void LoadClient::on_hello(std::string_view text) {
    const auto uaid = json_text(text, "uaid");
    if (!uaid) return give_up("no uaid in the hello reply");
    if (!endpoint_.empty() && *uaid != uaid_) return give_up("the server has forgotten a uaid");
    uaid_ = *uaid;
    if (!plan_.register_channel || !endpoint_.empty()) {
        stage_ = Stage::ready;
        return events_.on_ready(*this);
    }
    stage_ = Stage::registering;
    channel_ = core::to_dashed(core::random_uuid4());
    std::string request = R"({"messageType":"register","channelID":")" + channel_ + '"';
    if (!plan_.vapid_key.empty()) request += R"(,"key":")" + plan_.vapid_key + '"';
    append_frame(outgoing(), Opcode::text, request + '}');
}

void LoadClient::on_register(std::string_view text) {
    const auto endpoint = json_text(text, "pushEndpoint");
    if (!endpoint || !endpoint->starts_with("http")) return give_up("register was refused");
    endpoint_ = *endpoint;
    stage_ = Stage::ready;
    events_.on_ready(*this);
}

void LoadClient::on_notification(std::string_view text) {
    const auto version = json_text(text, "version");
    const auto channel = json_text(text, "channelID");
    if (!version || !channel) return;  // broadcasts and what is yet to be invented
    const auto data = json_text(text, "data");
    events_.on_notification(*this, data ? read_stamp(*data) : std::nullopt);
    if (!plan_.acknowledge) return;
    thread_local std::string ack;
    ack.assign(R"({"messageType":"ack","updates":[{"channelID":")");
    ack.append(*channel).append(R"(","version":")").append(*version).append(R"(","code":100}]})");
    append_frame(outgoing(), Opcode::text, ack);
}

}  // namespace beckon::bench
