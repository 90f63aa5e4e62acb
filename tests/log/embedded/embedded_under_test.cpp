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
    for (int attempt = 0;; ++attempt) {
        std::error_code error;
        std::filesystem::copy(from, to, std::filesystem::copy_options::recursive, error);
        if (!error) return;
        if (attempt == 20)
            throw std::filesystem::filesystem_error("copy_as_killed", from, to, error);
        std::filesystem::remove_all(to);
    }
}

void FileSizeLimit::set() { limit_file_size(0); }
void FileSizeLimit::lift() { limit_file_size(RLIM_INFINITY); }

}  // namespace beckon::test
