#include "app/process/process.hpp"
#include "support/temp_dir.hpp"

#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace beckon;
using Catch::Contains;

namespace {

/// A process that holds the directory and has so much memory that its end takes a while.
class Holder {
public:
    explicit Holder(const std::filesystem::path& path) {
        int ready[2] = {};
        REQUIRE(::pipe(ready) == 0);
        pid_ = ::fork();
        if (pid_ == 0) hold(path, ready[1]);
        char byte = 0;
        REQUIRE(::read(ready[0], &byte, 1) == 1);
        ::close(ready[0]);
        ::close(ready[1]);
    }
    ~Holder() {
        kill();
        ::waitpid(pid_, nullptr, 0);
    }
    void kill() const { ::kill(pid_, SIGKILL); }
    pid_t pid() const { return pid_; }

private:
    [[noreturn]] static void hold(const std::filesystem::path& path, int ready) {
        const app::DataDirectory directory{path};
        std::vector<char> memory(256U << 20);
        std::memset(memory.data(), 1, memory.size());
        if (::write(ready, "x", 1) == 1) ::pause();
        ::_exit(1);
    }

    pid_t pid_ = 0;
};

}  // namespace

TEST_CASE("a data directory whose holder was just killed is taken, and one in use is refused") {
    const test::TempDir directory;
    const Holder holder{directory.path()};
    CHECK_THROWS_WITH(
        app::DataDirectory{directory.path()},
        Contains("in use by another process (pid " + std::to_string(holder.pid()) + ")"));
    holder.kill();
    CHECK_NOTHROW(app::DataDirectory{directory.path()});
}
