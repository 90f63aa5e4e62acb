#include "ingest/endpoint_world.hpp"

#include <cstdio>

// `ingest_serve`: a real endpoint over the memory log, for tests that drive it from outside. Prints
// one line of JSON (its origin, and the path of a subscribed endpoint) and serves until its
// standard input ends.
int main() {
    using namespace beckon::test;
    beckon::ingest::EndpointConfig config;
    config.fcm_app_ids = {"my-app"};
    config.apns_channels = {"my-app"};
    EndpointWorld world{config};
    const auto path = world.subscribed();
    if (!world.wait_ready()) return 1;
    std::printf("{\"origin\":\"%s\",\"path\":\"%s\"}\n", world.endpoint_->origin().c_str(),
                path.c_str());
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    return 0;
}
