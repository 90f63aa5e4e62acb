// Bodies of Matrix homeservers: each is refused with a sentence, or becomes at most 16 messages,
// each JSON with its own device alone, for an endpoint of this service or for none.
#include "core/json_text.hpp"
#include "fuzz/require.hpp"
#include "ingest/send/matrix_gateway.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

using namespace beckon;
using test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<std::string> origins{"https://push.example", "http://127.0.0.1:8000"};
    const std::string_view body{reinterpret_cast<const char*>(data), size};
    const auto pushes = ingest::parse_matrix(body, origins);
    if (!pushes) {
        require(!pushes.error().message.empty());
        return 0;
    }
    require(!pushes->empty() && pushes->size() <= ingest::kMatrixDevicesMax);
    for (const auto& push : *pushes) {
        require(push.target.empty() || push.target.starts_with("/wpush/"));
        require(push.target.empty() || push.pushkey.ends_with(push.target));
        const auto request = core::parse_json(push.body);
        const auto& devices = request.at("notification").at("devices");
        require(devices.size() == 1);
        // (bytes that are no text were replaced, in the name too)
        require(devices[0].at("pushkey") ==
                core::parse_json(core::json_text(nlohmann::json(push.pushkey))));
    }
    return 0;
}
