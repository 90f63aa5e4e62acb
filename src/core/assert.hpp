#pragma once

#include <cstdio>
#include <cstdlib>

/// "We are wrong": aborts in every build, since corrupt state must not reach the log.
#define BECKON_ASSERT(condition, why)                                                      \
    do {                                                                                   \
        if (!(condition)) [[unlikely]] {                                                   \
            std::fprintf(stderr, "%s:%d: assertion failed: %s (%s)\n", __FILE__, __LINE__, \
                         #condition, why);                                                 \
            std::abort();                                                                  \
        }                                                                                  \
    } while (false)
