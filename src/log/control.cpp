#include "log/control.hpp"
