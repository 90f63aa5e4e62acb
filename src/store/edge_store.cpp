#include "store/edge_store.hpp"
