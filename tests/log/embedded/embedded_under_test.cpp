#include "log/embedded/embedded_under_test.hpp"

#include <csignal>

#include <sys/resource.h>

namespace beckon::test {

namespace {

void limit_file_size(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);  // EFBIG instead
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = std::min(bytes, limit.rlim_max);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) throw std::runtime_error("cannot set RLIMIT_FSIZE");
}

}  // namespace

Read publish_until_taken(LogUnderTest& log, log::Publisher& publisher, log::TopicPartition where,
                         const core::Record& record) {
    for (int i = 0; i < 400; ++i) {
        const auto answer = publish_all(log, publisher, where, {record})[0];
        if (answer) return expected(record, *answer);
        bool paused = false;
        log.executor().post_after(std::chrono::milliseconds{50}, [&] { paused = true; });
        log.wait_until([&] { return paused; });
    }
    throw std::runtime_error("the log did not come back");
}

void copy_as_killed(const std::filesystem::path& from, const std::filesystem::path& to) {
    using std::filesystem::copy_options;
    const auto copy_once = [&] {
        std::filesystem::remove_all(to);
        std::filesystem::copy(from, to, copy_options::recursive | copy_options::directories_only);
        // The log's own writes go on. A mark that is older than what it marks is true, as after a
        // kill; a newer one would miss writes that the copy does not have.
        for (const auto& entry : std::filesystem::recursive_directory_iterator{from}) {
            if (entry.path().filename() != "HIGH_WATER") continue;
            std::filesystem::copy_file(entry.path(),
                                       to / std::filesystem::relative(entry.path(), from));
        }
        std::filesystem::copy(from, to, copy_options::recursive | copy_options::skip_existing);
    };
    for (int attempt = 0;; ++attempt) {
        try {
            return copy_once();
        } catch (const std::filesystem::filesystem_error&) {
            if (attempt == 20) throw;
        }
    }
}

void FileSizeLimit::set() { limit_file_size(0); }
void FileSizeLimit::lift() { limit_file_size(RLIM_INFINITY); }

}  // namespace beckon::test
