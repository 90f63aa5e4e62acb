#pragma once

#include "core/executor.hpp"

#include <utility>  // Boost 1.74's awaitable.hpp needs it and does not include it

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace beckon::ingest {

/// One thread's io_context as an Executor. Must outlive everybody who may still post to it.
class IoLoop final : public core::Executor {
public:
    IoLoop();

    void post(Task task) override;
    void post_after(core::Duration delay, Task task) override;

    /// Names the calling thread (15 characters at most), blocks its signals (they are main's, and
    /// a TLS write to a closed socket must not raise SIGPIPE) and works until stop().
    void run(const char* name);
    /// Any thread. Tasks that have not run by then never will.
    void stop();

    boost::asio::io_context& context() { return context_; }

private:
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
};

}  // namespace beckon::ingest
