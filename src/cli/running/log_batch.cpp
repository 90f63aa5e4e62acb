#include "cli/running/log_batch.hpp"

#include "log/embedded/record_format.hpp"

#include <utility>

namespace beckon::cli {

using core::Fault;
using log::embedded::get_u64;
using log::embedded::put_u64;

namespace {

constexpr char kForm = 1;
constexpr std::size_t kHeadBytes = 10;
constexpr std::size_t kFrontBytes = 20;  ///< of a record, before its body

void append_u64(std::string& out, std::uint64_t number) {
    out.resize(out.size() + 8);
    put_u64(out.data() + out.size() - 8, number);
}

void append_u32(std::string& out, std::size_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(number >> shift));
}

std::size_t get_u32(const char* at) {
    std::size_t number = 0;
    for (int i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(at[i]);
    return number;
}

tl::unexpected<core::Error> corrupt() {
    return core::fail(Fault::corrupt, "the process answers with records that do not decode");
}

core::Record owned(const core::RecordView& view) {
    core::Record record{.key = std::string{view.key}, .value = std::nullopt, .headers = {}};
    if (view.value) record.value = std::string{*view.value};
    for (const auto& header : view.headers) {
        record.headers.push_back({header.name, std::string{header.value}});
    }
    return record;
}

}  // namespace

LogBatchWriter::LogBatchWriter() : bytes_(kHeadBytes, '\0') {}

void LogBatchWriter::add(const core::RecordView& record) {
    const auto body = log::embedded::encode_body(owned(record));
    append_u64(bytes_, static_cast<std::uint64_t>(record.offset));
    bytes_ += log::embedded::encode_time(record.time);
    append_u32(bytes_, body.size());
    bytes_ += body;
}

std::string LogBatchWriter::finish(core::Offset next, bool drained) {
    bytes_[0] = kForm;
    bytes_[1] = drained ? 1 : 0;
    put_u64(bytes_.data() + 2, static_cast<std::uint64_t>(next));
    return std::move(bytes_);
}

core::Result<LogBatchReader> LogBatchReader::open(std::string bytes) {
    if (bytes.size() < kHeadBytes || bytes[0] != kForm) return corrupt();
    LogBatchReader batch;
    batch.drained_ = bytes[1] != 0;
    batch.next_ = static_cast<core::Offset>(get_u64(bytes.data() + 2));
    batch.at_ = kHeadBytes;
    batch.bytes_ = std::move(bytes);
    return batch;
}

core::Result<void> LogBatchReader::take(const log::RecordSink& sink) {
    if (bytes_.size() - at_ < kFrontBytes) return corrupt();
    const char* front = bytes_.data() + at_;
    const auto size = get_u32(front + 16);
    if (bytes_.size() - at_ - kFrontBytes < size) return corrupt();
    core::RecordView view;
    view.offset = static_cast<core::Offset>(get_u64(front));
    view.time = log::embedded::decode_time({front + 8, 8});
    if (!log::embedded::decode_body({front + kFrontBytes, size}, view, headers_)) return corrupt();
    at_ += kFrontBytes + size;
    sink(view);
    return {};
}

}  // namespace beckon::cli
