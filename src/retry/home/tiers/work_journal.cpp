#include "retry/home/tiers/work_journal.hpp"

#include "core/logger.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace beckon::retry {

// The file: an entry for each thread, then the suspects.

namespace {

constexpr int kTierOfEvents = -1;

}  // namespace

WorkJournal::WorkJournal(const std::filesystem::path& file)
    : file_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    for (std::size_t i = 0; i < kThreadsMax; ++i) {
        slots_.push_back(std::unique_ptr<Slot>{new Slot{*this, i}});
    }
    std::vector<Entry> all(kThreadsMax + kSuspectsMax);
    const auto bytes = all.size() * sizeof(Entry);
    // A shorter file, as a new one is, ends in entries of none.
    const bool read = file_ >= 0 && ::pread(file_, all.data(), bytes, 0) >= 0;
    suspects_.assign(all.begin() + kThreadsMax, all.end());
    std::erase_if(suspects_, [](const Entry& one) { return one.is_none(); });
    all.resize(kThreadsMax);
    count_ends(all);
    all.assign(kThreadsMax, Entry{});
    all.insert(all.end(), suspects_.begin(), suspects_.end());
    all.resize(kThreadsMax + kSuspectsMax);
    if (read && write(all.data(), bytes, 0)) return;
    core::log_warn("retry", "work_journal_not_kept",
                   {{"file", file.string()},
                    {"why", std::strerror(errno)},
                    {"effect", "an event or a delivery that ends the process is tried again"}});
    if (file_ >= 0) ::close(std::exchange(file_, -1));
}

WorkJournal::~WorkJournal() {
    if (file_ >= 0) ::close(file_);
}

bool WorkJournal::Entry::is_none() const {
    const std::string_view id{name.data(), ::strnlen(name.data(), name.size())};
    const auto is_printable = [](char c) { return c > ' ' && c <= '~'; };
    return id.empty() || id.size() == name.size() || ends < 0 || tier < kTierOfEvents ||
           partition < 0 || offset < 0 || !std::all_of(id.begin(), id.end(), is_printable);
}

/// Of what threads were working on.
void WorkJournal::count_ends(const std::vector<Entry>& left) {
    for (auto entry : left) {
        if (entry.is_none()) continue;
        const auto before = std::find_if(suspects_.begin(), suspects_.end(),
                                         [&](const Entry& one) { return one.is(entry); });
        entry.ends = 1;
        if (before != suspects_.end()) {
            entry.ends += std::min(before->ends, kEndsMax);
            suspects_.erase(before);
        } else if (suspects_.size() == kSuspectsMax) {
            suspects_.erase(suspects_.begin());
        }
        suspects_.push_back(entry);
        core::log_warn("retry", "process_ended_at_work",
                       {{"work", std::string{entry.name.data()}},
                        {"partition", entry.partition},
                        {"tier", entry.tier},
                        {"offset", entry.offset},
                        {"times", entry.ends}});
    }
}

bool WorkJournal::write(const void* bytes, std::size_t size, std::size_t at) {
    return ::pwrite(file_, bytes, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
}

WorkJournal::Piece WorkJournal::Piece::of(const Due& due) {
    return {.name = due.delivery.id,
            .tier = due.ticket.tier,
            .partition = due.ticket.partition,
            .offset = due.ticket.offset};
}

WorkJournal::Piece WorkJournal::Piece::of_event(core::Partition partition, core::Offset offset,
                                                core::Timestamp at) {
    return {.name = "event-" + std::to_string(at.time_since_epoch().count()),
            .tier = kTierOfEvents,
            .partition = partition,
            .offset = offset};
}

WorkJournal::Entry WorkJournal::entry_of(const Piece& piece) {
    Entry entry{.tier = piece.tier, .partition = piece.partition, .offset = piece.offset};
    piece.name.copy(entry.name.data(), entry.name.size() - 1);
    return entry;
}

/// An entry that cannot be written, on a full disk for example, accuses nothing.
void WorkJournal::Slot::begin(const Piece& piece) {
    if (depth_++ > 0 || journal_.file_ < 0) return;
    const auto entry = entry_of(piece);
    journal_.write(&entry, sizeof entry, number_ * sizeof entry);
}

void WorkJournal::Slot::end() {
    if (--depth_ > 0 || journal_.file_ < 0) return;
    const char none = '\0';
    journal_.write(&none, sizeof none, number_ * sizeof(Entry));
}

bool WorkJournal::Slot::has_ended_processes(const Piece& piece) const {
    const auto& suspects = journal_.suspects_;
    if (suspects.empty()) return false;
    const auto entry = entry_of(piece);
    return std::any_of(suspects.begin(), suspects.end(),
                       [&](const Entry& one) { return one.ends >= kEndsMax && one.is(entry); });
}

}  // namespace beckon::retry
