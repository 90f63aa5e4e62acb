#pragma once

#include "retry/tiers/due.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace beckon::retry {

/// The delivery that each thread is working on, in a file that outlives the process. An attempt may
/// end the process, or hang so that somebody else ends it: the next process finds the delivery
/// there and counts it. A delivery that two processes ended with is to be attempted no more.
///
/// Only the page cache has what is written: it survives the end of a process, and what a power cut
/// takes is no evidence against a delivery. A kill by an operator may come while a thread works on
/// an innocent one; a second one would have to meet the same delivery again.
///
/// A file that cannot be opened or written is reported once, and nothing is known of deliveries
/// then. All slots are made at the start; the journal outlives who uses them.
class AttemptJournal {
    /// A delivery where it stands in the log: the same until its outcome is written.
    struct Entry {
        std::array<char, 44> delivery{};  ///< its id; empty: there is none
        std::int32_t ends = 0;            ///< processes that ended while they worked on it
        std::int32_t tier = 0;
        std::int32_t partition = 0;
        std::int64_t offset = 0;
        /// None, or of a file that is not ours.
        bool is_none() const;
        bool is(const Entry& other) const {
            return delivery == other.delivery && tier == other.tier &&
                   partition == other.partition && offset == other.offset;
        }
    };
    static_assert(sizeof(Entry) == 64);

public:
    /// The threads of deliveries (retry.threads), that of the bridges, and one aside for each of
    /// the first.
    static constexpr std::size_t kThreadsMax = 64 + 1 + 64;
    static constexpr std::size_t kBridgesThread = 64;
    static constexpr std::size_t aside_of(std::size_t thread) {
        return kBridgesThread + 1 + thread;
    }
    /// The newest deliveries during which a process ended are remembered.
    static constexpr std::size_t kSuspectsMax = 256;
    static constexpr int kEndsMax = 2;

    /// Of one thread.
    class Slot {
    public:
        /// The delivery that the thread works on from here to the end of a scope. A Work within
        /// another one of the same thread is part of it.
        class Work {
        public:
            Work(Slot* slot, const Due& due) : slot_(slot) {
                if (slot_) slot_->begin(due);
            }
            ~Work() {
                if (slot_) slot_->end();
            }
            Work(const Work&) = delete;
            Work& operator=(const Work&) = delete;

        private:
            Slot* slot_;
        };

        /// Whether kEndsMax processes ended while they worked on it.
        bool has_ended_processes(const Due& due) const;

    private:
        friend class AttemptJournal;
        Slot(AttemptJournal& journal, std::size_t number) : journal_(journal), number_(number) {}
        void begin(const Due& due);
        void end();

        AttemptJournal& journal_;
        const std::size_t number_;
        int depth_ = 0;
    };

    /// Reads what the process before has left, and counts it.
    explicit AttemptJournal(const std::filesystem::path& file);
    ~AttemptJournal();
    AttemptJournal(const AttemptJournal&) = delete;
    AttemptJournal& operator=(const AttemptJournal&) = delete;

    /// `thread` < kThreadsMax.
    Slot& slot(std::size_t thread) { return *slots_.at(thread); }

private:
    static Entry entry_of(const Due& due);
    void count_ends(const std::vector<Entry>& left);
    bool write(const void* bytes, std::size_t size, std::size_t at);

    int file_ = -1;
    std::vector<Entry> suspects_;  ///< constant after construction
    std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace beckon::retry
