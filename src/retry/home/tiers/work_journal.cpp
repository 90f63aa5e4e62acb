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
    std::vector<Piece> all(kThreadsMax + kSuspectsMax);
    const auto bytes = all.size() * sizeof(Piece);
    // A shorter file, as a new one is, ends in entries of none.
    const bool read = file_ >= 0 && ::pread(file_, all.data(), bytes, 0) >= 0;
    suspects_.assign(all.begin() + kThreadsMax, all.end());
    std::erase_if(suspects_, [](const Piece& one) { return one.is_none(); });
    all.resize(kThreadsMax);
    count_ends(all);
    all.assign(kThreadsMax, Piece{});
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

bool WorkJournal::Piece::is_none() const {
    const std::string_view id{name.data(), ::strnlen(name.data(), name.size())};
    const auto is_printable = [](char c) { return c > ' ' && c <= '~'; };
    return id.empty() || id.size() == name.size() || ends < 0 || tier < kTierOfEvents ||
           partition < 0 || offset < 0 || !std::all_of(id.begin(), id.end(), is_printable);
}

/// Of what threads were working on.
void WorkJournal::count_ends(const std::vector<Piece>& left) {
    for (auto entry : left) {
        if (entry.is_none()) continue;
        const auto before = std::find_if(suspects_.begin(), suspects_.end(),
                                         [&](const Piece& one) { return one.is(entry); });
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
    Piece piece{
        .tier = due.ticket.tier, .partition = due.ticket.partition, .offset = due.ticket.offset};
    due.delivery.id.copy(piece.name.data(), piece.name.size() - 1);
    return piece;
}

WorkJournal::Piece WorkJournal::Piece::of_event(core::Partition partition, core::Offset offset,
                                                core::Timestamp at) {
    Piece piece{.tier = kTierOfEvents, .partition = partition, .offset = offset};
    const auto name = "event-" + std::to_string(at.time_since_epoch().count());
    name.copy(piece.name.data(), piece.name.size() - 1);
    return piece;
}

/// An entry that cannot be written, on a full disk for example, accuses nothing.
void WorkJournal::Slot::begin(const Piece& piece) {
    if (depth_++ > 0 || journal_.file_ < 0) return;
    journal_.write(&piece, sizeof piece, number_ * sizeof piece);
}

void WorkJournal::Slot::end() {
    if (--depth_ > 0 || journal_.file_ < 0) return;
    const char none = '\0';
    journal_.write(&none, sizeof none, number_ * sizeof(Piece));
}

bool WorkJournal::Slot::has_ended_processes(const Piece& piece) const {
    const auto& suspects = journal_.suspects_;
    return std::any_of(suspects.begin(), suspects.end(),
                       [&](const Piece& one) { return one.ends >= kEndsMax && one.is(piece); });
}

}  // namespace beckon::retry
