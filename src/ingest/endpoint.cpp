#include "ingest/endpoint.hpp"
