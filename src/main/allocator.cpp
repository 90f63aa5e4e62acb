#include <jemalloc/jemalloc.h>

// jemalloc reads this before main(), and after it the environment's MALLOC_CONF, which is stronger.
// Pages that are free for five seconds go back to the system, by a thread of its own: no loop waits
// for that (docs/decisions/0199-memory-comes-from-jemalloc.md).
const char* malloc_conf = "background_thread:true,dirty_decay_ms:5000,muzzy_decay_ms:0";
