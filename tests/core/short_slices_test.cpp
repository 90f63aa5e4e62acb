#include "core/short_slices.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <thread>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

using namespace std::chrono_literals;
using namespace beckon;

namespace {

/// As sched_getattr(2) has them.
struct Attributes {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime_ns, deadline_ns, period_ns;
};

Attributes attributes() {
    Attributes now{};
    REQUIRE(::syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) == 0);
    return now;
}

bool kernel_has_slices() {
    utsname name{};
    ::uname(&name);
    int major = 0;
    int minor = 0;
    std::sscanf(name.release, "%d.%d", &major, &minor);
    return major > 6 || (major == 6 && minor >= 12);
}

}  // namespace

TEST_CASE("a thread that asks for short slices gets them, and keeps its priority") {
    std::thread{[] {
        ::setpriority(PRIO_PROCESS, 0, 5);
        core::run_in_short_slices(300us);
        const auto now = attributes();
        CHECK(now.policy == 0);
        CHECK(now.nice == 5);
        if (kernel_has_slices()) CHECK(now.runtime_ns == 300'000);
    }}.join();
}
