#include "client/webpush_crypto.hpp"
