// Lines of `beckon subscriptions import`, and dumps that `convert` makes such lines from: whatever
// a file holds, a line is refused with a sentence, or the records that it becomes can be read
// again. The first byte of the input chooses the form.
#include "fuzz/require.hpp"
#include "records/events.hpp"
#include "support/record_view.hpp"
#include "tools/subscriptions/autopush_dump.hpp"
#include "tools/subscriptions/import_file.hpp"
#include "tools/subscriptions/import_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <variant>

using namespace beckon;
using namespace beckon::tools;
using test::require;

namespace {

constexpr core::Timestamp kNow{std::chrono::milliseconds{1'790'000'000'000}};

void import_line(const std::string& line) {
    const auto client = parse_client(line);
    if (!client) return require(!client.error().message.empty());
    const KnownClients none{{*client}};
    const auto plan = plan_import(*client, none.of(client->uaid),
                                  {.now = kNow, .client_ttl = std::chrono::hours{1'440}});
    for (const auto& record : plan.records) {
        const test::ReadBack read{record};
        core::DecodeScratch scratch;
        require(!std::holds_alternative<core::Unknown>(core::decode_subscription(*read, scratch)));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string text{reinterpret_cast<const char*>(data + 1), size - 1};
    const int form = data[0] % 3;
    if (form == 0) {
        import_line(text);
        return 0;
    }
    std::size_t clients = 0;
    std::istringstream in{text};
    const auto done = convert_dump(
        form == 1 ? DumpForm::redis : DumpForm::bigtable, in,
        [&](const std::string& line) {
            ++clients;
            require(line.find('\n') == std::string::npos);
            import_line(line);
        },
        [](const std::string& why) { require(why.find(": ") != std::string::npos); });
    require(done.clients == clients);
    return 0;
}
