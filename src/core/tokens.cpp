#include "core/tokens.hpp"
