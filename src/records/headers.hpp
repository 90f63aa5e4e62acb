#pragma once

#include <string_view>

namespace beckon::core {

/// Names of headers that several records have.
namespace header {
inline constexpr std::string_view kId = "ce_id";
inline constexpr std::string_view kType = "ce_type";
inline constexpr std::string_view kSource = "ce_source";
inline constexpr std::string_view kSpecVersion = "ce_specversion";
inline constexpr std::string_view kSubject = "ce_subject";
inline constexpr std::string_view kTtl = "ce_ttl";
inline constexpr std::string_view kTopic = "ce_topic";
inline constexpr std::string_view kUrgency = "ce_urgency";
inline constexpr std::string_view kEncoding = "ce_encoding";
inline constexpr std::string_view kEncryption = "ce_encryption";
inline constexpr std::string_view kCryptoKey = "ce_cryptokey";
inline constexpr std::string_view kReliabilityId = "ce_reliabilityid";
inline constexpr std::string_view kReason = "ce_reason";
inline constexpr std::string_view kEpoch = "ce_epoch";
inline constexpr std::string_view kSeq = "ce_seq";
inline constexpr std::string_view kTraceparent = "traceparent";
inline constexpr std::string_view kContentType = "content-type";
inline constexpr std::string_view kNode = "node";
}  // namespace header

}  // namespace beckon::core
