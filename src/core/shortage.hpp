#pragma once

#include <chrono>
#include <cstdint>

/// From when on log lines and the console warn of what runs out on a host. Values.
namespace beckon::core {

enum class DiskLevel : std::uint8_t { ok, filling, full };

/// A disk is short of space if less than kFreeRatioLow of it and less than kFreeBytesLow are free,
/// or less than kFreeBytesLeast and half of it. It is full if less than kFreeRatioLow and
/// kFreeBytesLeast are free, or less than kFreeBytesToStart, for which a start waits
/// (app::kSpaceToStart).
inline constexpr double kFreeRatioLow = 0.05;
inline constexpr double kFreeBytesLow = 20e9;
inline constexpr double kFreeBytesLeast = 500e6;
inline constexpr double kFreeBytesToStart = 64 << 20;

/// Of a disk of `size` bytes.
inline DiskLevel disk_level(double free, double size) {
    const bool scarce = free < size * kFreeRatioLow;
    const bool little = free < kFreeBytesLeast && free < size / 2;
    if ((scarce && little) || free < kFreeBytesToStart) return DiskLevel::full;
    return (scarce && free < kFreeBytesLow) || little ? DiskLevel::filling : DiskLevel::ok;
}

/// A certificate that ends sooner is to be renewed.
inline constexpr std::chrono::hours kCertificateLeft{24 * 14};

}  // namespace beckon::core
