#include "core/key_ring.hpp"
