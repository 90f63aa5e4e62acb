// Rows of the embedded log: any bytes are a record's body, key or clock reading, which is written
// again as the same bytes, or none. The first byte of the input chooses the kind.
#include "fuzz/require.hpp"
#include "log/embedded/log_time.hpp"
#include "log/embedded/record_format.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace beckon;
using namespace beckon::log::embedded;
using test::require;

namespace {

core::Record record_of(const core::RecordView& view) {
    core::Record record{.key = std::string{view.key}, .value = std::nullopt, .headers = {}};
    if (view.value) record.value = std::string{*view.value};
    for (const auto& header : view.headers) {
        record.headers.push_back({header.name, std::string{header.value}});
    }
    return record;
}

void try_body(std::string_view body) {
    core::RecordView view;
    std::vector<core::HeaderView> headers;
    if (!decode_body(body, view, headers)) return;
    const auto key = decode_key(body);
    require(key && key->key == view.key && key->tombstone == !view.value.has_value());
    const auto once = encode_body(record_of(view));
    core::RecordView again;
    std::vector<core::HeaderView> again_headers;
    require(decode_body(once, again, again_headers));
    require(again.key == view.key && again.value == view.value);
    require(encode_body(record_of(again)) == once);
}

void try_key(std::string_view key) {
    const auto where = parse_partition_key(key);
    if (!where) return;
    require(key.starts_with(partition_key(*where)));
    if (key.size() == kRecordKeyBytes) require(record_key(*where, offset_of_key(key)) == key);
}

void try_clock_reading(std::string_view bytes) {
    const auto reading = parse_clock_reading(bytes);
    if (reading) require(parse_clock_reading(to_bytes(*reading)) == reading);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view input{reinterpret_cast<const char*>(data + 1), size - 1};
    switch (data[0] % 3) {
        case 0: try_body(input); break;
        case 1: try_key(input); break;
        case 2: try_clock_reading(input); break;
    }
    return 0;
}
