#pragma once

#include "app/config/config.hpp"

namespace beckon::app {

/// Where `endpoint.self_signed` or `edge.self_signed` is set, makes the role use the certificate in
/// <data>/tls. It is made at the first start and stays the same, since senders and clients were
/// configured to trust it, until it is about to expire or lacks a name that is configured. Throws
/// StartupError.
void use_self_made_certificate(Config& config);

}  // namespace beckon::app
