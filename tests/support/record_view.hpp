#pragma once

#include "core/record.hpp"

#include <vector>

namespace beckon::test {

/// A Record as a reader sees it. The record must live as long as the view.
class ReadBack {
public:
    explicit ReadBack(const core::Record& record, core::Offset offset = 0,
                      core::Timestamp time = {}) {
        for (const auto& h : record.headers) headers_.push_back({h.name, h.value});
        view_.offset = offset;
        view_.time = time;
        view_.key = record.key;
        if (record.value) view_.value = *record.value;
        view_.headers = headers_;
    }
    ReadBack(const ReadBack&) = delete;
    ReadBack& operator=(const ReadBack&) = delete;

    const core::RecordView& operator*() const { return view_; }

private:
    std::vector<core::HeaderView> headers_;
    core::RecordView view_;
};

}  // namespace beckon::test
