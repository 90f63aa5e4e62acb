#include "log/memory/memory_log.hpp"
