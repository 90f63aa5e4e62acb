#pragma once

namespace prometheus {
class Histogram;
}  // namespace prometheus

namespace beckon::edge {

/// How late deliveries are. Null: not measured.
struct DeliveryTimes {
    /// From the log's append, which is a moment before the 201, to the frame, where the client was
    /// attached.
    prometheus::Histogram* append_to_frame = nullptr;
    prometheus::Histogram* frame_to_ack = nullptr;
};

}  // namespace beckon::edge
