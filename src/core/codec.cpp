#include "core/codec.hpp"
