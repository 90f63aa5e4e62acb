// Requests that ask for receipts and poll for them: headers and queries of a sender are understood
// or refused, and no token opens that was not sealed here. In the input "$R" is a receipt of this
// installation.
#include "core/tokens.hpp"
#include "fuzz/conversation.hpp"
#include "ingest/api/router.hpp"
#include "ingest/receipts/receipt_replies.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace beckon;
using namespace beckon::ingest;
using test::require;

namespace {

constexpr net::RequestLimits kLimits{
    .header_bytes_max = 1'024, .body_bytes_max = 64, .extra_prefix = kReceiptHeaders};

struct Installation {
    const std::shared_ptr<const core::KeyRing> keys =
        std::make_shared<const core::KeyRing>(core::KeyRing::generate());
    core::Tokens tokens{keys};
    const core::ReceiptRef receipt{.id = {core::random_uuid4()}, .sender = std::nullopt};
    const std::string token = tokens.seal_receipt(receipt);
    const std::vector<std::string> origins{"https://push.example.org"};
};

struct Calls final : net::HttpHandler {
    explicit Calls(Installation& i) : here(i) {}

    void handle(net::ExchangePtr exchange) override {
        const auto& request = exchange->request();
        const auto wish = check_receipt(request, here.tokens, here.origins, std::nullopt);
        const auto named = push_receipt(request);
        if (named && wish) {
            require(wish->has_value() && **wish == here.receipt);
        }
        if (!named) require(wish && wish->has_value() == preferences(request).respond_async);
        const auto route = find_route(request.method, request.target);
        for (const auto argument : route.arguments) {
            const auto opened = here.tokens.open_receipt(argument);
            require(!opened || *opened == here.receipt);
        }
        const auto after = parse_after(request.target);
        require(!after || *after >= -1);
        HttpReply reply;
        if (after) reply = outcomes_reply("https://push.example.org", here.token, {}, *after);
        promise_receipt(reply, receipt_url("https://push.example.org", here.token));
        exchange->reply(std::move(reply));
    }
    net::HttpReply rejection(net::Rejection) override { return {}; }

    Installation& here;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static Installation here;
    std::string bytes{reinterpret_cast<const char*>(data), size};
    for (auto at = bytes.find("$R"); at != std::string::npos; at = bytes.find("$R", at)) {
        bytes.replace(at, 2, here.token);
        at += here.token.size();
    }
    Calls calls{here};
    test::QueueExecutor loop;
    test::converse(calls, loop, kLimits, bytes, [](const auto&, const auto&) {});
    return 0;
}
