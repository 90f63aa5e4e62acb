#include "support/faulty_disk.hpp"

#include <cstdint>
#include <limits>
#include <utility>

#include <rocksdb/file_system.h>

namespace beckon::test {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

constexpr int kEvery = std::numeric_limits<int>::max();

IOStatus io_error(const std::string& file) { return IOStatus::IOError("injected fault", file); }

}  // namespace

template <class Do>
auto FaultyDisk::run(Call call, const std::string& file, Do call_through) {
    strikes(call, file, How::hang);
    if (strikes(call, file, How::fail)) return io_error(file);
    if (strikes(call, file, How::full)) return IOStatus::NoSpace("no space left", file);
    const IOStatus status = call_through();
    return strikes(call, file, How::fail_after) ? io_error(file) : status;
}

class FaultyDisk::WritableFile final : public rocksdb::FSWritableFileOwnerWrapper {
public:
    WritableFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, std::string name,
                 FaultyDisk& disk)
        : FSWritableFileOwnerWrapper(std::move(file)), name_(std::move(name)), disk_(disk) {}

    IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
        return disk_.run(Call::write, name_,
                         [&] { return target()->Append(data, options, debug); });
    }
    IOStatus Append(const Slice& data, const IOOptions& options,
                    const rocksdb::DataVerificationInfo& info, IODebugContext* debug) override {
        return disk_.run(Call::write, name_,
                         [&] { return target()->Append(data, options, info, debug); });
    }
    IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
        return disk_.run(Call::sync, name_, [&] { return target()->Sync(options, debug); });
    }
    IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
        return disk_.run(Call::sync, name_, [&] { return target()->Fsync(options, debug); });
    }

private:
    const std::string name_;
    FaultyDisk& disk_;
};

class FaultyDisk::RandomAccessFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
public:
    RandomAccessFile(std::unique_ptr<rocksdb::FSRandomAccessFile>&& file, std::string name,
                     FaultyDisk& disk)
        : FSRandomAccessFileOwnerWrapper(std::move(file)), name_(std::move(name)), disk_(disk) {}

    IOStatus Read(std::uint64_t offset, std::size_t size, const IOOptions& options, Slice* result,
                  char* scratch, IODebugContext* debug) const override {
        auto status = disk_.run(Call::read, name_, [&] {
            return target()->Read(offset, size, options, result, scratch, debug);
        });
        if (status.ok() && disk_.strikes(Call::read, name_, How::corrupt)) {
            std::string other(result->data(), result->size());
            for (auto& byte : other) byte = static_cast<char>(byte ^ 0x55);
            other.copy(scratch, other.size());
            *result = Slice{scratch, other.size()};
        }
        return status;
    }
    IOStatus MultiRead(rocksdb::FSReadRequest* requests, std::size_t count,
                       const IOOptions& options, IODebugContext* debug) override {
        for (std::size_t i = 0; i < count; ++i) {
            auto& one = requests[i];
            one.status = Read(one.offset, one.len, options, &one.result, one.scratch, debug);
        }
        return IOStatus::OK();
    }

private:
    const std::string name_;
    FaultyDisk& disk_;
};

class FaultyDisk::SequentialFile final : public rocksdb::FSSequentialFileOwnerWrapper {
public:
    SequentialFile(std::unique_ptr<rocksdb::FSSequentialFile>&& file, std::string name,
                   FaultyDisk& disk)
        : FSSequentialFileOwnerWrapper(std::move(file)), name_(std::move(name)), disk_(disk) {}

    IOStatus Read(std::size_t size, const IOOptions& options, Slice* result, char* scratch,
                  IODebugContext* debug) override {
        return disk_.run(Call::read, name_,
                         [&] { return target()->Read(size, options, result, scratch, debug); });
    }

private:
    const std::string name_;
    FaultyDisk& disk_;
};

class FaultyDisk::Files final : public rocksdb::FileSystemWrapper {
public:
    explicit Files(FaultyDisk& disk)
        : FileSystemWrapper(rocksdb::FileSystem::Default()), disk_(disk) {}
    const char* Name() const override { return "beckon.faulty"; }

    IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* file,
                             IODebugContext* debug) override {
        return wrap<WritableFile>(
            name, file, [&] { return target()->NewWritableFile(name, options, file, debug); });
    }
    IOStatus NewRandomAccessFile(const std::string& name, const FileOptions& options,
                                 std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                 IODebugContext* debug) override {
        return wrap<RandomAccessFile>(
            name, file, [&] { return target()->NewRandomAccessFile(name, options, file, debug); });
    }
    IOStatus NewSequentialFile(const std::string& name, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSSequentialFile>* file,
                               IODebugContext* debug) override {
        return wrap<SequentialFile>(
            name, file, [&] { return target()->NewSequentialFile(name, options, file, debug); });
    }

private:
    template <class Wrapper, class File, class Open>
    IOStatus wrap(const std::string& name, std::unique_ptr<File>* file, Open open) {
        auto status = disk_.run(Call::open, name, open);
        if (status.ok()) *file = std::make_unique<Wrapper>(std::move(*file), name, disk_);
        return status;
    }

    FaultyDisk& disk_;
};

FaultyDisk::FaultyDisk() : env_(rocksdb::NewCompositeEnv(std::make_shared<Files>(*this))) {}
FaultyDisk::~FaultyDisk() { heal(); }

void FaultyDisk::set(Fault fault) {
    const std::scoped_lock lock{mutex_};
    fault_ = std::move(fault);
}

void FaultyDisk::fail(Call call, int count, std::string_view suffix) {
    set({call, How::fail, count, std::string{suffix}});
}
void FaultyDisk::fail_of_this_thread(Call call, int count, std::string_view suffix) {
    set({call, How::fail, count, std::string{suffix}, std::this_thread::get_id()});
}
void FaultyDisk::fail_after_the_fact(Call call, int count, std::string_view suffix) {
    set({call, How::fail_after, count, std::string{suffix}});
}
void FaultyDisk::fill(std::string_view suffix) {
    set({Call::write, How::full, kEvery, std::string{suffix}});
}
void FaultyDisk::corrupt_reads(std::string_view suffix) {
    set({Call::read, How::corrupt, kEvery, std::string{suffix}});
}
void FaultyDisk::hang(Call call, std::string_view suffix) {
    set({call, How::hang, kEvery, std::string{suffix}});
}

void FaultyDisk::heal() {
    set({});
    healed_.notify_all();
}

int FaultyDisk::struck() const {
    const std::scoped_lock lock{mutex_};
    return struck_;
}

bool FaultyDisk::strikes(Call call, std::string_view file, How how) {
    std::unique_lock lock{mutex_};
    const auto meant = [&] {
        return fault_.count > 0 && fault_.call == call && fault_.how == how &&
               file.ends_with(fault_.suffix) &&
               (!fault_.thread || *fault_.thread == std::this_thread::get_id());
    };
    if (!meant()) return false;
    ++struck_;
    if (fault_.count != kEvery) --fault_.count;
    if (how == How::hang) healed_.wait(lock, [&] { return !meant(); });
    return true;
}

}  // namespace beckon::test
