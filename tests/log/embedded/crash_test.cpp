#include "log/contract_support.hpp"
#include "log/embedded/embedded_under_test.hpp"

#include <array>
#include <cstdlib>
#include <map>
#include <random>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace beckon;
using namespace beckon::test;
using Catch::Contains;
using log::Sync;
using log::Topic;
using log::TopicPartition;

namespace {

constexpr const char* kDirectoryVariable = "BECKON_TEST_LOG_DIRECTORY";
constexpr const char* kSyncVariable = "BECKON_TEST_LOG_SYNC";
constexpr int kReportFile = 3;  ///< where the child says what was answered

/// One answer that the child got.
struct Report {
    std::int32_t partition;
    std::int64_t offset;
    std::int64_t number;  ///< the record's key and value follow from it
};

core::Record numbered_record(std::int64_t number) {
    return {std::to_string(number), std::string(static_cast<std::size_t>(number % 700), 'x'), {}};
}

void configure(log::EmbeddedConfig& config, const std::string& directory, Sync sync) {
    config.directory = directory;
    config.sync = sync;
}

/// This test binary again, as a process that writes to the log until it is killed.
class Child {
public:
    Child(const std::filesystem::path& directory, Sync sync) {
        std::array<int, 2> pipe{};
        if (pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, pipe[1], kReportFile);
        setenv(kDirectoryVariable, directory.c_str(), 1);
        setenv(kSyncVariable, sync == Sync::always ? "always" : "never", 1);
        std::string program = "/proc/self/exe";
        std::string test = "[.child]";
        std::array<char*, 3> arguments{program.data(), test.data(), nullptr};
        const int spawned = posix_spawn(&pid_, std::filesystem::read_symlink(program).c_str(),
                                        &actions, nullptr, arguments.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        ::close(pipe[1]);
        reports_ = pipe[0];
        if (spawned != 0) throw std::runtime_error("cannot start the child");
    }
    ~Child() {
        kill();
        ::close(reports_);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    pid_t pid() const { return pid_; }

    /// The next report; none after the child's end.
    std::optional<Report> next() {
        Report report{};
        const auto got = ::read(reports_, &report, sizeof report);
        if (got != sizeof report) return std::nullopt;
        return report;
    }
    void kill() {
        if (pid_ == 0) return;
        ::kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

private:
    pid_t pid_ = 0;
    int reports_ = -1;
};

}  // namespace

TEST_CASE("the child of the crash tests: writes until it is killed", "[.child]") {
    const auto* const directory = std::getenv(kDirectoryVariable);
    REQUIRE(directory);
    const bool always = std::string{std::getenv(kSyncVariable)} == "always";
    EmbeddedUnderTest log{[&](log::EmbeddedConfig& c) {
        configure(c, directory, always ? Sync::always : Sync::never);
    }};
    const auto publisher = log.log().open_publisher(log.executor());
    std::int64_t number = 0;
    const std::function<void(int)> publish = [&](int partition) {
        const auto mine = number++;
        publisher->publish({Topic::kNotifications, partition}, numbered_record(mine),
                           [&, partition, mine](const auto& result) {
                               if (!result) std::abort();
                               const Report report{partition, result->offset, mine};
                               if (::write(kReportFile, &report, sizeof report) != sizeof report) {
                                   std::abort();
                               }
                               publish(partition);
                           });
    };
    for (int i = 0; i < 20; ++i) publish(i % 2);
    log.wait_until([] { return false; }, std::chrono::minutes{1});
}

TEST_CASE("after a kill at any point everything answered is there and no offset comes twice") {
    const auto sync = GENERATE(Sync::always, Sync::never);
    CAPTURE(static_cast<int>(sync));
    const TempDir directory;
    std::mt19937 random{7};
    using Position = std::pair<std::int32_t, core::Offset>;
    std::map<Position, std::string> answered;
    for (int round = 0; round < 12; ++round) {
        {
            Child child{directory / "log", sync};
            const auto reports = 1 + random() % 400;
            for (std::size_t i = 0; i < reports; ++i) {
                const auto report = child.next();
                REQUIRE(report);
                const auto first_time = answered.emplace(
                    Position{report->partition, report->offset}, std::to_string(report->number));
                CHECK(first_time.second);
            }
            child.kill();
            while (const auto report = child.next()) {
                answered.emplace(Position{report->partition, report->offset},
                                 std::to_string(report->number));
            }
        }
        EmbeddedUnderTest log{
            [&](log::EmbeddedConfig& c) { configure(c, directory / "log", sync); }};
        std::map<Position, std::string> in_log;
        for (int p = 0; p < 2; ++p) {
            for (const auto& r : read_all(log, {Topic::kNotifications, p})) {
                CHECK(in_log.emplace(Position{p, r.offset}, r.key).second);
                if (r.key != "own") {
                    CHECK(r.value == numbered_record(std::stoll(r.key)).value);
                }
            }
        }
        for (const auto& [place, key] : answered) {
            INFO(place.first << "/" << place.second);
            REQUIRE(in_log.contains(place));
            CHECK(in_log.at(place) == key);
        }
        for (int p = 0; p < 2; ++p) {
            const auto own = append(log, {Topic::kNotifications, p}, {record("own")}).front();
            const auto above = in_log.upper_bound({p, own.offset});
            CHECK((above == in_log.end() || above->first.first != p));
            CHECK(answered.emplace(Position{p, own.offset}, "own").second);
        }
    }
}

TEST_CASE("a directory in use by another process is refused, with its pid") {
    const TempDir directory;
    Child child{directory / "log", Sync::never};
    REQUIRE(child.next());
    std::string why;
    try {
        EmbeddedUnderTest log{
            [&](log::EmbeddedConfig& c) { configure(c, directory / "log", Sync::never); }};
    } catch (const std::runtime_error& error) {
        why = error.what();
    }
    CHECK_THAT(why, Contains((directory / "log").string()) &&
                        Contains("in use by another process") &&
                        Contains("pid " + std::to_string(child.pid())));
    REQUIRE(child.next());
}
