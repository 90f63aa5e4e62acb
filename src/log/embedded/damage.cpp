#include "log/embedded/damage.hpp"

#include "core/logger.hpp"
#include "log/embedded/storage.hpp"
#include "rocks/write_ahead_scan.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

namespace beckon::log::embedded {

namespace fs = std::filesystem;
using rocks::WriteAheadBatch;
using rocks::WriteAheadGap;

namespace {

constexpr const char* kNotes = "DAMAGED";
constexpr const char* kSecondName = ".damaged";
constexpr std::size_t kNotesMost = 20;
/// Of the pages in which synced files are written (rocks/write_ahead_files.hpp).
constexpr std::uintmax_t kPage = 4096;

std::vector<fs::path> write_ahead_files(const fs::path& directory) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(directory)) {
        if (entry.path().extension() == ".log" && entry.is_regular_file()) {
            files.push_back(entry.path());
        }
    }
    // Their names are numbers, with zeros in front up to six digits.
    std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
        return std::pair{a.native().size(), a} < std::pair{b.native().size(), b};
    });
    return files;
}

/// The records of log topics that a batch puts.
class RecordCount final : public rocksdb::WriteBatch::Handler {
public:
    rocksdb::Status PutCF(std::uint32_t family, const rocksdb::Slice&,
                          const rocksdb::Slice&) override {
        if (family == static_cast<std::uint32_t>(Family::records)) ++count;
        return rocksdb::Status::OK();
    }
    rocksdb::Status DeleteCF(std::uint32_t, const rocksdb::Slice&) override {
        return rocksdb::Status::OK();
    }
    std::uint64_t count = 0;
};

std::uint64_t records_in(std::string_view batch) {
    RecordCount records;
    const auto read = rocksdb::WriteBatch{std::string{batch}}.Iterate(&records);
    return read.ok() ? records.count : 0;
}

/// A name beside `file` that nothing has.
fs::path free_name(const fs::path& file) {
    auto name = fs::path{file.string() + kSecondName};
    for (int n = 2; fs::exists(name); ++n) {
        name = file.string() + kSecondName + "-" + std::to_string(n);
    }
    return name;
}

/// RocksDB removes files and does not change them, so a second name is as good as a copy.
fs::path keep(const fs::path& file) {
    auto name = free_name(file);
    std::error_code error;
    fs::create_hard_link(file, name, error);
    if (error) fs::copy_file(file, name, error);
    if (!error) return name;
    throw std::runtime_error("the log in " + file.parent_path().string() + " may be damaged, and " +
                             file.filename().string() +
                             ", which the start removes, cannot be kept as " + name.string() +
                             ": " + error.message());
}

void sync_to_disk(const fs::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    ::fsync(file);
    ::close(file);
}

}  // namespace

/// What RocksDB has left out.
struct DamageCheck::Loss {
    std::uint64_t batches = 0;
    std::uint64_t batches_with_records = 0;
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    bool last_is_wrong = false;  ///< the last batch was there to its end, and is damaged
    bool is_cut = false;         ///< the last file ends within a page, in a batch
    fs::path file;               ///< second name of the file with the damage
    WriteAheadGap gap;

    /// One batch behind the damage may be of the same write as the damaged bytes, where batches of
    /// the cleaner wait for the next sync.
    bool is_damage(const Facts& facts) const {
        if (is_cut || (last_is_wrong && facts.same_boot)) return true;
        if (facts.same_boot) return batches > 0;
        return facts.synced && batches_with_records > 1;
    }
    std::string text() const;
};

DamageCheck::DamageCheck(fs::path directory) : directory_(std::move(directory)) {
    const auto files = write_ahead_files(directory_);
    const auto first = std::find_if(files.begin(), files.end(),
                                    [this](const fs::path& file) { return may_be_damaged(file); });
    for (auto file = first; file != files.end(); ++file) kept_.push_back(keep(*file));
}

/// Zeros at its end belong to every file that was filled ahead.
bool DamageCheck::may_be_damaged(const fs::path& file) const {
    bool gap = false;
    const auto end = rocks::scan_write_ahead_file(
        file, [&](const WriteAheadBatch& batch) { gap |= batch.before.has_value(); });
    if (!end) throw std::runtime_error("the log: " + end.error().message);
    return gap || (*end && (*end)->kind != WriteAheadGap::Kind::zeros);
}

DamageCheck::Loss DamageCheck::loss(const Facts& facts) const {
    Loss loss;
    std::optional<std::pair<fs::path, WriteAheadGap>> gap;  // the last one before a lost batch
    for (const auto& file : kept_) {
        std::uint64_t last = 0;
        const auto end = rocks::scan_write_ahead_file(file, [&](const WriteAheadBatch& batch) {
            last = batch.last;
            if (batch.before && loss.batches == 0) gap = {file, *batch.before};
            if (batch.last <= facts.last_sequence) return;
            const auto records = records_in(batch.bytes);
            ++loss.batches;
            loss.batches_with_records += records > 0 ? 1 : 0;
            loss.records += records;
            loss.bytes += batch.bytes.size();
        });
        if (!end || !*end || facts.clean) continue;
        if (loss.batches == 0) gap = {file, **end};
        const bool unread = last == 0 || last >= facts.last_sequence;
        loss.last_is_wrong |= unread && (*end)->kind == WriteAheadGap::Kind::wrong;
        loss.is_cut |= file == kept_.back() && facts.whole_pages &&
                       (*end)->kind != WriteAheadGap::Kind::zeros &&
                       fs::file_size(file) % kPage != 0;
    }
    if (gap) std::tie(loss.file, loss.gap) = *gap;
    return loss;
}

std::string DamageCheck::Loss::text() const {
    const auto kept = file.filename().string();
    const auto name = kept.substr(0, kept.find(kSecondName));
    auto text =
        "bytes " + std::to_string(gap.begin) + " to " + std::to_string(gap.end) + " of " + name;
    if (is_cut && batches == 0) {
        text +=
            " are the beginning of a write whose end is missing: the file was cut, and what "
            "stood behind is gone";
    } else {
        text += " are damaged, and " + std::to_string(batches) + " writes behind them with " +
                std::to_string(records) + " records (" + std::to_string(bytes) +
                " bytes) were not read";
    }
    return text +
           ". Messages and changes that had been accepted are missing. The file is kept as " +
           kept + ". Restore a backup, or go on without them; then remove the file DAMAGED";
}

void DamageCheck::opened(const Facts& facts) {
    if (kept_.empty()) return;
    const auto lost = loss(facts);
    if (!lost.is_damage(facts)) return not_opened();
    note(lost.text());
}

void DamageCheck::not_opened() {
    std::error_code ignored;
    for (const auto& file : kept_) fs::remove(file, ignored);
    kept_.clear();
}

void DamageCheck::note(const std::string& text) const {
    const auto file = directory_ / kNotes;
    {
        std::ofstream notes{file, std::ios::app};
        notes << text << "\n";
        if (!notes.flush()) {
            core::log_error("log", "damage_not_noted", {{"file", file.string()}, {"damage", text}});
        }
    }
    sync_to_disk(file);
    sync_to_disk(directory_);
}

std::vector<std::string> noted_damage(const fs::path& directory) {
    std::vector<std::string> lines;
    std::ifstream notes{directory / kNotes};
    for (std::string line; lines.size() < kNotesMost && std::getline(notes, line);) {
        if (!line.empty()) lines.push_back(line);
    }
    return lines;
}

}  // namespace beckon::log::embedded
