#include "log/kafka/kafka_log.hpp"
