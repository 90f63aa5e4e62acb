#include "cluster/cluster.hpp"
