#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include <unistd.h>

namespace beckon::test {

/// Captures the output of a standard stream during its life, or until `finish`.
class CapturedStream {
public:
    CapturedStream(std::FILE* stream, int fd) : stream_(stream), fd_(fd), file_(std::tmpfile()) {
        if (!file_) throw std::runtime_error("cannot make a temporary file");
        std::fflush(stream_);
        before_ = dup(fd_);
        dup2(fileno(file_), fd_);
    }
    ~CapturedStream() { finish(); }
    CapturedStream(const CapturedStream&) = delete;
    CapturedStream& operator=(const CapturedStream&) = delete;

    const std::string& finish() {
        if (!file_) return text_;
        std::fflush(stream_);
        dup2(before_, fd_);
        close(before_);
        std::rewind(file_);
        for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) {
            text_.push_back(static_cast<char>(c));
        }
        std::fclose(file_);
        file_ = nullptr;
        return text_;
    }

private:
    std::FILE* const stream_;
    const int fd_;
    std::FILE* file_;
    int before_ = -1;
    std::string text_;
};

/// Both standard streams.
class CapturedOutput {
public:
    /// Ends the capture. Standard output, then standard error.
    std::string finish() { return out() + err_.finish(); }
    /// Ends the capture of standard output.
    std::string out() { return out_.finish(); }

private:
    CapturedStream out_{stdout, STDOUT_FILENO};
    CapturedStream err_{stderr, STDERR_FILENO};
};

}  // namespace beckon::test
