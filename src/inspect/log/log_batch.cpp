#include "inspect/log/log_batch.hpp"

#include "core/bytes.hpp"
#include "log/embedded/record_format.hpp"

#include <utility>

namespace beckon::inspect {

using core::Fault;

namespace {

constexpr char kForm = 1;
constexpr std::size_t kHeadBytes = 10;
constexpr std::size_t kFrontBytes = 20;  ///< of a record, before its body

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
    core::append_fixed(bytes_, static_cast<std::uint64_t>(record.offset));
    bytes_ += log::embedded::encode_time(record.time);
    core::append_fixed(bytes_, static_cast<std::uint32_t>(body.size()));
    bytes_ += body;
}

std::string LogBatchWriter::finish(core::Offset next, bool drained) {
    bytes_[0] = kForm;
    bytes_[1] = drained ? 1 : 0;
    core::put_fixed(bytes_.data() + 2, static_cast<std::uint64_t>(next));
    return std::move(bytes_);
}

core::Result<LogBatchReader> LogBatchReader::open(std::string bytes) {
    if (bytes.size() < kHeadBytes || bytes[0] != kForm) return corrupt();
    LogBatchReader batch;
    batch.drained_ = bytes[1] != 0;
    batch.next_ = static_cast<core::Offset>(core::get_fixed<std::uint64_t>(bytes.data() + 2));
    batch.at_ = kHeadBytes;
    batch.bytes_ = std::move(bytes);
    return batch;
}

core::Result<void> LogBatchReader::take(const log::RecordSink& sink) {
    if (bytes_.size() - at_ < kFrontBytes) return corrupt();
    const char* front = bytes_.data() + at_;
    const auto size = core::get_fixed<std::uint32_t>(front + 16);
    if (bytes_.size() - at_ - kFrontBytes < size) return corrupt();
    core::RecordView view;
    view.offset = static_cast<core::Offset>(core::get_fixed<std::uint64_t>(front));
    view.time = log::embedded::decode_time({front + 8, 8});
    if (!log::embedded::decode_body({front + kFrontBytes, size}, view, headers_)) return corrupt();
    at_ += kFrontBytes + size;
    sink(view);
    return {};
}

}  // namespace beckon::inspect
