// Rows of the stores: any bytes are a row, which is written again as the same bytes, or none. The
// first byte of the input chooses the kind of row; a row's key, where it counts, stands before the
// byte 0x1e.
#include "fuzz/require.hpp"
#include "store/rows/receipt_row.hpp"
#include "store/rows/schema.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace beckon;
using namespace beckon::store;
using test::require;

namespace {

/// Parses, writes and parses again.
template <class Parse, class Append>
void try_row(std::string_view value, const Parse& parse, const Append& append) {
    const auto row = parse(value);
    if (!row) return;
    std::string once;
    append(once, *row);
    const auto again = parse(std::string_view{once});
    require(again.has_value());
    std::string twice;
    append(twice, *again);
    require(once == twice);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view input{reinterpret_cast<const char*>(data + 1), size - 1};
    std::string_view key;
    if (const auto end = input.find('\x1e'); end != std::string_view::npos) {
        key = input.substr(0, end);
        input.remove_prefix(end + 1);
    }
    drop_time(input);
    switch (data[0] % 11) {
        case 0:
            try_row(
                input, [](auto v) { return parse_message({.offset = 1}, v); }, append_message);
            break;
        case 1: try_row(input, parse_key_row, append_key_row); break;
        case 2: try_row(input, parse_replacement_row, append_replacement_row); break;
        case 3:
            try_row(
                input, [&](auto v) { return parse_pending_tombstone(key, v); },
                append_pending_tombstone);
            break;
        case 4: try_row(input, parse_client_row, append_client_row); break;
        case 5:
            if (key.size() != kPrefixBytes + 16) break;
            try_row(
                input, [&](auto v) { return parse_channel_row(key, v); }, append_channel_row);
            break;
        case 6: try_row(input, parse_checkpoint, append_checkpoint); break;
        case 7: {
            const auto month = parse_message_family_name(input);
            require(!month || month_family_name(*month) == input ||
                    day_family_name(*month) == input);
            break;
        }
        case 8: try_row(input, parse_receipt, append_receipt); break;
        case 9: {
            const auto deadline = parse_deadline(input);
            if (!deadline) break;
            const auto high = static_cast<std::uint8_t>(input[0]);
            const auto low = static_cast<std::uint8_t>(input[1]);
            require(deadline_row_key(high * 256 + low, *deadline) == input);
            break;
        }
        case 10: parse_stale_write(key, input); break;
    }
    return 0;
}
