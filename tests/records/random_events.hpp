#pragma once

#include "core/base64url.hpp"
#include "records/events.hpp"

#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <string>

namespace beckon::test {

/// Random events that are legal; owns the texts that they point to. One seed, one sequence.
class RandomEvents {
public:
    explicit RandomEvents(unsigned seed) : random_(seed) {}

    core::NotificationAccepted accepted() {
        core::NotificationAccepted event;
        event.uaid = id<core::Uaid>();
        event.key = id<core::MessageKey>();
        event.message_id = keep(core::base64url(bytes(49)));
        event.channel = id<core::ChannelId>();
        event.ttl_s = static_cast<std::uint32_t>(edge_number());
        event.topic = maybe([&] {  // padding counts toward 32
            return keep(std::string{text(kUrlSafe, 1, 30)} + std::string(below(3), '='));
        });
        if (coin()) event.urgency = static_cast<core::Urgency>(below(4));
        event.encoding = maybe([&] { return keep(coin() ? "aes128gcm" : "aesgcm"); });
        event.encryption =
            maybe([&] { return keep("salt=" + std::string{text(kUrlSafe, 1, 30)}); });
        event.crypto_key = maybe([&] { return keep("dh=" + std::string{text(kUrlSafe, 1, 90)}); });
        event.reliability_id = maybe([&] { return text(kHex, 32, 32); });
        event.traceparent = maybe([&] {
            return keep("00-" + std::string{text(kHex, 32, 32)} + "-" +
                        std::string{text(kHex, 16, 16)} + "-01");
        });
        event.source = text(kHex, 16, 16);
        event.body = keep(bytes(below(4) == 0 ? 0 : below(600)));
        return event;
    }
    core::NotificationFinished finished() {
        return {id<core::Uaid>(), id<core::MessageKey>(), static_cast<core::FinishReason>(below(6)),
                text(kHex, 16, 16)};
    }
    core::ClientRecorded client() {
        core::ClientRecorded event;
        event.uaid = id<core::Uaid>();
        event.router_type = static_cast<core::RouterType>(below(4));
        event.router_data = maybe([&] {
            return keep(R"({"app_id":")" + std::string{text(kUrlSafe, 1, 20)} +
                        R"(","n":[1,2.5,null,{"deep":"é\n"}]})");
        });
        event.created = time();
        event.last_seen = time();
        event.stamp = stamp();
        return event;
    }
    core::ClientRemoved client_removed() { return {id<core::Uaid>(), stamp()}; }
    core::ChannelRecorded channel() {
        return {id<core::Uaid>(), id<core::ChannelId>(), time(),
                maybe([&] { return text(kHex, 64, 64); }), stamp()};
    }
    core::ChannelRemoved channel_removed() {
        return {id<core::Uaid>(), id<core::ChannelId>(), stamp()};
    }
    core::BarrierRecord barrier() { return {text(kHex, 16, 16)}; }
    core::Lease lease() {
        core::Lease event{.epoch = edge_number(), .node = text(kHex, 16, 16)};
        event.removed = coin();
        if (!event.removed) event.role = keep(coin() ? "edge" : "retry");
        return event;
    }

    std::size_t below(std::size_t end) { return random_() % end; }
    bool coin() { return below(2) == 1; }
    std::string bytes(std::size_t size) {
        std::string out;
        while (out.size() < size) out.push_back(static_cast<char>(random_()));
        return out;
    }

private:
    static constexpr std::string_view kHex = "0123456789abcdef";
    static constexpr std::string_view kUrlSafe =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }
    std::string_view text(std::string_view alphabet, std::size_t least, std::size_t most) {
        std::string out;
        const auto size = least + below(most - least + 1);
        while (out.size() < size) out.push_back(alphabet[below(alphabet.size())]);
        return keep(std::move(out));
    }
    template <class Make>
    std::optional<std::string_view> maybe(Make make) {
        if (coin()) return std::nullopt;
        return make();
    }
    template <class Id>
    Id id() {
        Id out;
        for (auto& byte : out.bytes) byte = static_cast<std::uint8_t>(random_());
        return out;
    }
    /// Both ends of the range come up often.
    std::uint64_t edge_number() {
        switch (below(4)) {
            case 0: return 0;
            case 1: return std::numeric_limits<std::uint64_t>::max();
            default: return random_() >> below(64);
        }
    }
    core::Timestamp time() {
        return core::Timestamp{std::chrono::milliseconds{below(4'000'000'000'000)}};
    }
    std::optional<core::WriteStamp> stamp() {
        if (coin()) return std::nullopt;
        return core::WriteStamp{edge_number(), edge_number()};
    }

    std::mt19937_64 random_;
    std::deque<std::string> texts_;  ///< stable addresses
};

}  // namespace beckon::test
