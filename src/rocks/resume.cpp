#include "rocks/resume.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <rocksdb/transaction_log.h>

namespace beckon::rocks {

using rocksdb::DB;
using std::chrono::steady_clock;

namespace {

/// One that takes longer hangs, and the loop with it.
constexpr std::chrono::seconds kFlushesWithin{10};
constexpr std::chrono::milliseconds kPollEvery{1};

std::uint64_t total(DB& db, const std::string& property) {
    std::uint64_t sum = 0;
    db.GetAggregatedIntProperty(property, &sum);
    return sum;
}

std::uint64_t number(DB& db, const std::string& property) {
    std::uint64_t value = 0;
    db.GetIntProperty(property, &value);
    return value;
}

}  // namespace

/// RocksDB schedules one flush at a time. A failed write, and one that gets no new write-ahead file
/// (kMemTable), waits until none is due; a flush that fails meanwhile was begun. A running flush
/// may be writing a manifest, and so may a caller that makes a family.
void FlushesFirst::OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status*) {
    using Reason = rocksdb::BackgroundErrorReason;
    auto* db = db_.load();
    const bool of_a_write = reason == Reason::kWriteCallback || reason == Reason::kMemTable;
    if (!db || (!of_a_write && reason != Reason::kManifestWrite)) return;
    const auto due = [&] {
        const bool pending = total(*db, DB::Properties::kMemTableFlushPending) > 0;
        const bool running = number(*db, DB::Properties::kNumRunningFlushes) > 0;
        return of_a_write ? pending || running : pending && !running;
    };
    const auto errors = number(*db, DB::Properties::kBackgroundErrors);
    const auto until = steady_clock::now() + kFlushesWithin;
    while (due() && number(*db, DB::Properties::kBackgroundErrors) == errors &&
           steady_clock::now() < until) {
        std::this_thread::sleep_for(kPollEvery);
    }
}

std::uint64_t write_ahead_file(DB& db) {
    std::unique_ptr<rocksdb::LogFile> file;
    return db.GetCurrentWalFile(&file).ok() ? file->LogNumber() : 0;
}

rocksdb::Status resume(DB& db, std::uint64_t failed) {
    auto status = db.Resume();
    if (!status.ok()) return status;
    const auto now = write_ahead_file(db);
    if (now == failed || now == 0 || failed == 0) {
        return rocksdb::Status::Aborted("the write-ahead file is still the one that failed");
    }
    return status;
}

}  // namespace beckon::rocks
