#include "cluster/partition_lease.hpp"
