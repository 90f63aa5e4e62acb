#include "store/subscription_store.hpp"
