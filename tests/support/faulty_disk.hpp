#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <rocksdb/env.h>

namespace beckon::test {

/// A disk below RocksDB on which a test lets calls fail, hang or lie. Everything else goes to the
/// real file system. Thread-safe; outlives the databases that are opened with its env().
class FaultyDisk {
public:
    enum class Call { open, read, write, sync };

    FaultyDisk();
    ~FaultyDisk();
    FaultyDisk(const FaultyDisk&) = delete;
    FaultyDisk& operator=(const FaultyDisk&) = delete;

    rocksdb::Env* env() const { return env_.get(); }

    /// From now on the next `count` calls of a kind on files whose names end in `suffix` fail with
    /// an I/O error.
    void fail(Call call, int count, std::string_view suffix = "");
    /// As fail(), but only calls of the calling thread fail: a flush or a compaction that happens
    /// to run uses up no fault.
    void fail_of_this_thread(Call call, int count, std::string_view suffix = "");
    /// As fail(), but the call does its work before it reports the error.
    void fail_after_the_fact(Call call, int count, std::string_view suffix = "");
    /// There is no space for anything that is written to such files, until heal().
    void fill(std::string_view suffix = "");
    /// Reads of such files give other bytes than were written.
    void corrupt_reads(std::string_view suffix);
    /// Calls of a kind wait until heal().
    void hang(Call call, std::string_view suffix = "");
    /// Ends all of it.
    void heal();

    /// How many calls were made to fail, hang or lie.
    int struck() const;

private:
    class Files;
    class WritableFile;
    class RandomAccessFile;
    class SequentialFile;

    enum class How { fail, fail_after, full, corrupt, hang };
    struct Fault {
        Call call = Call::read;
        How how = How::fail;
        int count = 0;  ///< calls that are left to strike
        std::string suffix;
        std::optional<std::thread::id> thread{};  ///< the only one whose calls it strikes
    };

    void set(Fault fault);
    /// Whether the fault hits this call; waits while it hangs.
    bool strikes(Call call, std::string_view file, How how);
    template <class Do>
    auto run(Call call, const std::string& file, Do call_through);

    mutable std::mutex mutex_;
    std::condition_variable healed_;
    Fault fault_;
    int struck_ = 0;
    std::unique_ptr<rocksdb::Env> env_;
};

}  // namespace beckon::test
