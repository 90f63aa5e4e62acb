// Any text of a client is a frame of the protocol, or has a named fault that closes its connection;
// every text of the frame stands in the input, or was escaped there.
#include "edge/protocol/protocol.hpp"
#include "fuzz/require.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

using namespace beckon;
using test::require;

namespace {

void check(const edge::ClientFrame& frame, std::size_t size) {
    if (const auto* hello = std::get_if<edge::Hello>(&frame)) {
        require(hello->broadcasts.size() <= size);
    }
    const auto* command = std::get_if<edge::ClientCommand>(&frame);
    if (!command) return;
    if (const auto* ack = std::get_if<edge::Ack>(command)) {
        for (const auto& update : ack->updates) {
            require(update.version.size() <= size);
            require(edge::answer_code(update) < edge::kAnswerCodes.size());
        }
    }
    if (const auto* nack = std::get_if<edge::Nack>(command)) {
        require(edge::answer_code(*nack) < edge::kAnswerCodes.size());
    }
    if (const auto* unregister = std::get_if<edge::Unregister>(command)) {
        require(edge::answer_code(*unregister) < edge::kAnswerCodes.size());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static edge::FrameParser parser;
    const std::string text{reinterpret_cast<const char*>(data), size};
    const auto frame = parser.parse(text);
    if (!frame) {
        require(!edge::to_string(frame.error()).empty());
        require(edge::closing_for(frame.error()).code != edge::CloseCode::normal);
        return 0;
    }
    check(*frame, size);
    edge::FrameParser fresh;  // an earlier frame leaves nothing behind
    const auto again = fresh.parse(text);
    require(again && *again == *frame);
    require(fresh.parse(text + "x").has_value() == false);
    return 0;
}
