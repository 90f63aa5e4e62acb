// Any record decodes to an event or to Unknown, and an event survives being written again; so do
// the records of the other topics, or they are refused.
//
// Input: fields separated by the byte 0x1e: key, value ("\0" alone is null), then name and value of
// each header.
#include "fuzz/require.hpp"
#include "records/broadcast.hpp"
#include "records/client_gone.hpp"
#include "records/dead_letter.hpp"
#include "records/delivery.hpp"
#include "records/done.hpp"
#include "records/events.hpp"
#include "records/own_event.hpp"
#include "records/ownership.hpp"
#include "records/process.hpp"
#include "records/receipt.hpp"
#include "support/record_view.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace beckon;
using namespace beckon::core;
using test::require;

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
                require(Decode(*again, second) == event);
            }
        },
        event);
}

/// `written`: what a decoded record was encoded as; it decodes to the same.
template <class Decoded, class Decode>
void same_again(const Decoded& decoded, const Record& written, Decode decode) {
    const test::ReadBack again{written};
    const auto second = decode(*again);
    require(second && *second == *decoded);
}

void try_ownership(const Record& record) {
    const test::ReadBack read{record};
    const auto event = cluster::decode_ownership(*read);
    std::visit(
        [&](const auto& known) {
            using Known = std::decay_t<decltype(known)>;
            if constexpr (!std::is_same_v<Known, cluster::UnknownOwnership> &&
                          !std::is_same_v<Known, cluster::OwnershipBarrier>) {
                const Record written = encode(known);
                const test::ReadBack again{written};
                require(cluster::decode_ownership(*again) == event);
            }
        },
        event);
}

void try_others(const Record& record) {
    const test::ReadBack read{record};
    try_ownership(record);
    // (what a process says of itself is bounded when it is written)
    if (const auto process = cluster::decode_process(*read)) {
        const Record written = encode(*process);
        const test::ReadBack again{written};
        require(cluster::decode_process(*again).has_value());
    }
    if (const auto settled = retry::decode_settled(*read)) {
        same_again(settled, encode(*settled), retry::decode_settled);
    }
    if (const auto done = retry::decode_done(*read)) {
        same_again(done, encode(*done), retry::decode_done);
    }
    if (const auto broadcast = edge::decode_broadcast(*read)) {
        same_again(broadcast, encode(*broadcast), edge::decode_broadcast);
    }
    if (const auto outcome = decode_receipt(*read)) {
        same_again(outcome, encode(*outcome), decode_receipt);
    }
    if (const auto gone = decode_client_gone(*read)) {
        same_again(gone, encode(*gone), decode_client_gone);
    }
    static_cast<void>(owner_wanting(*read, "beckon.message.finished"));
    const auto delivery = retry::decode_delivery(*read);
    require(delivery || !delivery.error().message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Record record = record_of({reinterpret_cast<const char*>(data), size});
    try_record<decode_notification>(record);
    try_record<decode_subscription>(record);
    try_others(record);
    return 0;
}
