#include "retry/dispatch/attempt_journal.hpp"

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

AttemptJournal::AttemptJournal(const std::filesystem::path& file)
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
    core::log_warn("retry", "attempt_journal_not_kept",
                   {{"file", file.string()},
                    {"why", std::strerror(errno)},
                    {"effect", "a delivery whose attempt ends the process is attempted again"}});
    if (file_ >= 0) ::close(std::exchange(file_, -1));
}

AttemptJournal::~AttemptJournal() {
    if (file_ >= 0) ::close(file_);
}

bool AttemptJournal::Entry::is_none() const {
    const std::string_view id{delivery.data(), ::strnlen(delivery.data(), delivery.size())};
    const auto is_printable = [](char c) { return c > ' ' && c <= '~'; };
    return id.empty() || id.size() == delivery.size() || ends < 0 || tier < 0 || partition < 0 ||
           offset < 0 || !std::all_of(id.begin(), id.end(), is_printable);
}

/// Of what threads were working on.
void AttemptJournal::count_ends(const std::vector<Entry>& left) {
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
        core::log_warn("retry", "process_ended_in_attempt",
                       {{"delivery", std::string{entry.delivery.data()}},
                        {"partition", entry.partition},
                        {"tier", entry.tier},
                        {"offset", entry.offset},
                        {"times", entry.ends}});
    }
}

bool AttemptJournal::write(const void* bytes, std::size_t size, std::size_t at) {
    return ::pwrite(file_, bytes, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
}

AttemptJournal::Entry AttemptJournal::entry_of(const Due& due) {
    Entry entry{
        .tier = due.ticket.tier, .partition = due.ticket.partition, .offset = due.ticket.offset};
    due.delivery.id.copy(entry.delivery.data(), entry.delivery.size() - 1);
    return entry;
}

/// An entry that cannot be written, on a full disk for example, accuses no delivery.
void AttemptJournal::Slot::begin(const Due& due) {
    if (depth_++ > 0 || journal_.file_ < 0) return;
    const auto entry = entry_of(due);
    journal_.write(&entry, sizeof entry, number_ * sizeof entry);
}

void AttemptJournal::Slot::end() {
    if (--depth_ > 0 || journal_.file_ < 0) return;
    const char none = '\0';
    journal_.write(&none, sizeof none, number_ * sizeof(Entry));
}

bool AttemptJournal::Slot::has_ended_processes(const Due& due) const {
    const auto& suspects = journal_.suspects_;
    if (suspects.empty()) return false;
    const auto entry = entry_of(due);
    return std::any_of(suspects.begin(), suspects.end(),
                       [&](const Entry& one) { return one.ends >= kEndsMax && one.is(entry); });
}

}  // namespace beckon::retry
