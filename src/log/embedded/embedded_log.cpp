#include "log/embedded/embedded_log.hpp"
