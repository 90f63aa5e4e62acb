#include "store/rows/receipt_row.hpp"

#include "store/rows/row_bytes.hpp"
#include "store/rows/row_key.hpp"

#include <algorithm>

namespace beckon::store {

namespace {

constexpr char kForm = 'e';
constexpr char kByMessage = '\0';
constexpr char kByExpiry = '\1';
constexpr std::size_t kPartitionBytes = 2;

}  // namespace

std::string receipt_row_key(core::Partition partition, const core::MessageKey& key) {
    auto row = partition_begin(partition);
    row.push_back(kByMessage);
    append_id(row, key.bytes);
    return row;
}

void append_receipt(std::string& out, const Receipt& receipt) {
    out.push_back(kForm);
    append_time(out, core::Timestamp{});
    append_id(out, receipt.uaid.bytes);
    append_time(out, receipt.expiry);
    out.push_back(receipt.ttl_zero ? '\1' : '\0');
    core::append_text(out, receipt.subscription);
    core::append_text(out, receipt.message_id);
}

std::optional<Receipt> parse_receipt(std::string_view value) {
    RowReader in{value};
    if (in.byte() != kForm) return std::nullopt;
    in.time();
    Receipt receipt;
    receipt.uaid.bytes = in.id();
    receipt.expiry = in.time();
    receipt.ttl_zero = in.byte() != '\0';
    receipt.subscription = in.text();
    receipt.message_id = in.text();
    if (!in.finished()) return std::nullopt;
    return receipt;
}

std::string deadlines_begin(core::Partition partition) {
    auto row = partition_begin(partition);
    row.push_back(kByExpiry);
    return row;
}

std::string deadline_row_key(core::Partition partition, const Deadline& deadline) {
    auto row = deadlines_begin(partition);
    append_time(row, deadline.expiry);
    append_id(row, deadline.key.bytes);
    return row;
}

std::optional<Deadline> parse_deadline(std::string_view row_key) {
    RowReader in{row_key.substr(std::min(kPartitionBytes, row_key.size()))};
    if (in.byte() != kByExpiry) return std::nullopt;
    Deadline deadline;
    deadline.expiry = in.time();
    deadline.key.bytes = in.id();
    if (!in.finished()) return std::nullopt;
    return deadline;
}

}  // namespace beckon::store
