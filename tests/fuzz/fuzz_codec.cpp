// Any record decodes to an event or to Unknown, and an event survives being written again.
//
// Input: fields separated by the byte 0x1e: key, value ("\0" alone is null), then name and value of
// each header.
#include "fuzz/require.hpp"
#include "records/events.hpp"
#include "support/record_view.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace beckon;
using namespace beckon::core;

namespace {

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> fields;
    while (true) {
        const auto end = text.find('\x1e');
        fields.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return fields;
        text.remove_prefix(end + 1);
    }
}

Record record_of(std::string_view input) {
    const auto fields = split(input);
    Record record{.key = std::string{fields[0]}, .value = std::nullopt, .headers = {}};
    const bool null = fields.size() < 2 || fields[1] == std::string_view{"\0", 1};
    if (!null) record.value = std::string{fields[1]};
    for (std::size_t i = 2; i + 1 < fields.size(); i += 2) {
        record.headers.push_back({fields[i], std::string{fields[i + 1]}});
    }
    return record;
}

template <auto Decode>
void try_record(const Record& record) {
    const test::ReadBack read{record};
    DecodeScratch scratch;
    const auto event = Decode(*read, scratch);
    std::visit(
        [&](const auto& known) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(known)>, Unknown>) {
                const Record written = encode(known);
                const test::ReadBack again{written};
                DecodeScratch second;
                test::require(Decode(*again, second) == event);
            }
        },
        event);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Record record = record_of({reinterpret_cast<const char*>(data), size});
    try_record<decode_notification>(record);
    try_record<decode_subscription>(record);
    return 0;
}
