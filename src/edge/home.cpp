#include "edge/home.hpp"
