#pragma once

#include "retry/home/tiers/due.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace beckon::retry {

/// The event or delivery that each thread is working on, in a file that outlives the process. The
/// matching of an event or an attempt may end the process, or hang so that somebody else ends it:
/// the next process finds the piece of work there and counts it. One that two processes ended with
/// is a dead letter, and not worked on any more.
///
/// Only the page cache has what is written: it survives the end of a process, and what a power cut
/// takes is no evidence against a piece of work. A kill by an operator may come while a thread
/// works on an innocent one; a second one would have to meet the same again.
///
/// A file that cannot be opened or written is reported once, and nothing is known then. All slots
/// are made at the start; the journal outlives who uses them.
class WorkJournal {
public:
    /// The threads of homes (retry.threads).
    static constexpr std::size_t kThreadsMax = 64;
    /// The newest pieces of work during which a process ended are remembered.
    static constexpr std::size_t kSuspectsMax = 256;
    static constexpr int kEndsMax = 2;

    /// A piece of work where it stands in the log: the same until its outcome is written. As it
    /// stands in the file.
    struct Piece {
        std::array<char, 44> name{};  ///< empty: there is none
        std::int32_t ends = 0;        ///< processes that ended while they worked on it
        std::int32_t tier = 0;
        std::int32_t partition = 0;
        std::int64_t offset = 0;

        static Piece of(const Due& due);
        /// `at`: when the event was appended, which tells it from those of a topic made anew.
        static Piece of_event(core::Partition partition, core::Offset offset, core::Timestamp at);
        /// None, or of a file that is not ours.
        bool is_none() const;
        bool is(const Piece& other) const {
            return name == other.name && tier == other.tier && partition == other.partition &&
                   offset == other.offset;
        }
    };
    static_assert(sizeof(Piece) == 64);

    /// Of one thread.
    class Slot {
    public:
        /// The piece that the thread works on from here to the end of a scope. A Work within
        /// another one of the same thread is part of it.
        class Work {
        public:
            Work(Slot* slot, const Piece& piece) : slot_(slot) {
                if (slot_) slot_->begin(piece);
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
        bool has_ended_processes(const Piece& piece) const;

    private:
        friend class WorkJournal;
        Slot(WorkJournal& journal, std::size_t number) : journal_(journal), number_(number) {}
        void begin(const Piece& piece);
        void end();

        WorkJournal& journal_;
        const std::size_t number_;
        int depth_ = 0;
    };

    /// Reads what the process before has left, and counts it.
    explicit WorkJournal(const std::filesystem::path& file);
    ~WorkJournal();
    WorkJournal(const WorkJournal&) = delete;
    WorkJournal& operator=(const WorkJournal&) = delete;

    /// `thread` < kThreadsMax.
    Slot& slot(std::size_t thread) { return *slots_.at(thread); }

private:
    void count_ends(const std::vector<Piece>& left);
    bool write(const void* bytes, std::size_t size, std::size_t at);

    int file_ = -1;
    std::vector<Piece> suspects_;  ///< constant after construction
    std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace beckon::retry
