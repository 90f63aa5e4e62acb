#include "core/events.hpp"
