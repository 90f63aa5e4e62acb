#pragma once

#include "core/result.hpp"
#include "retry/attempt/bridge/signing_key.hpp"

#include <string>

/// The credentials that FCM and APNs give their customers, read from files (docs/bridges.md). Error
/// messages name the file and the fault, and quote nothing of the file.
namespace beckon::retry {

/// A service account of Google, for one app.
struct FcmCredentials {
    std::string app;  ///< as registrations name it
    std::string project;
    std::string client_email;
    std::string key_id;
    std::string token_uri;
    SigningKey key;
};

/// A signing key of Apple, for one release channel.
struct ApnsCredentials {
    std::string channel;  ///< as registrations name it
    std::string team_id;
    std::string key_id;
    std::string topic;  ///< the app's bundle id
    bool sandbox = false;
    SigningKey key;
};

/// `<app>=<file>`; the file is the JSON that Google's console gives. Errors: invalid, not_found.
core::Result<FcmCredentials> load_fcm_credentials(const std::string& entry);
/// `<channel>=<file>`; the file is JSON with `team_id`, `key_id` and `key_file` (the .p8 file, from
/// the directory of this one), and perhaps `topic` and `sandbox`. Errors: as above.
core::Result<ApnsCredentials> load_apns_credentials(const std::string& entry);

/// The text before the first `=`; empty if there is none.
std::string app_of(const std::string& entry);

}  // namespace beckon::retry
