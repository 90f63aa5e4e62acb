#include "core/base64url.hpp"
