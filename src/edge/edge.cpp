#include "edge/edge.hpp"
