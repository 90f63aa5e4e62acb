#include "log/topics_admin.hpp"
