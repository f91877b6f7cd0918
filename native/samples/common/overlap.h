// What stream_overlap computes and the order in which it must happen, in one
// place for both forms of the sample. Several streams each do a few rounds of
// copy in, kernel, copy out, host callback; one more stream waits for all of
// them and adds up what they left.
#pragma once

#include <mutex>

#include "common/sample.h"

namespace samples {

class Overlap {
 public:
  static constexpr int kStreams = 4;
  static constexpr int kRounds = 3;
  static constexpr unsigned int kSteps = 4;

  explicit Overlap(size_t count) : count_(count) {}

  size_t count() const { return count_; }
  size_t bytes() const { return count_ * sizeof(unsigned int); }

  /// What stream `stream` copies to the device in round `round`.
  static unsigned int input(int stream, int round, size_t index) {
    return static_cast<unsigned int>(index) * 2654435761u + static_cast<unsigned int>(stream * 1000 + round);
  }

  /// What the kernel makes of it: a few steps of a linear congruence.
  static unsigned int output(int stream, int round, size_t index) {
    unsigned int value = input(stream, round, index);
    for (unsigned int step = 0; step < kSteps; ++step) value = value * 1664525u + 1013904223u;
    return value;
  }

  /// The sum over the streams of what their last round left on the device.
  static unsigned int combined(size_t index) {
    unsigned int sum = 0;
    for (int stream = 0; stream < kStreams; ++stream) sum += output(stream, kRounds - 1, index);
    return sum;
  }

  /// One host callback: who it belongs to, and the host memory that must hold
  /// the results by then. `stream` is kStreams for the sum.
  struct Callback {
    Overlap* overlap = nullptr;
    int stream = 0;
    int round = 0;
    const unsigned int* results = nullptr;
  };

  /// The function that the samples enqueue; `data` is a Callback. Looks at the
  /// results while the stream waits, and calls nothing of CUDA.
  static void called(void* data) {
    const auto& callback = *static_cast<const Callback*>(data);
    callback.overlap->record(callback);
  }

  void reset() {
    const std::lock_guard lock(mutex_);
    calls_.clear();
  }

  /// Ends the program when a callback is missing, came in a wrong order or
  /// found wrong results.
  void check(const Options& options) const {
    const std::lock_guard lock(mutex_);
    const size_t wanted = kStreams * kRounds + 1;
    if (calls_.size() != wanted) fail(options, "%zu host callbacks ran, not %zu", calls_.size(), wanted);
    int next[kStreams] = {};
    for (size_t at = 0; at < calls_.size(); ++at) {
      const Call& call = calls_[at];
      if (call.wrong_at != kRight)
        fail(options, "stream %d, round %d: element %zu was wrong when the host callback ran", call.stream,
             call.round, call.wrong_at);
      if (call.stream == kStreams) {
        if (at + 1 != wanted) fail(options, "the sum was ready before all streams had finished");
        continue;
      }
      if (call.round != next[call.stream]++)
        fail(options, "stream %d: round %d called back out of order", call.stream, call.round);
    }
  }

 private:
  static constexpr size_t kRight = ~size_t{0};
  struct Call {
    int stream;
    int round;
    size_t wrong_at;
  };

  void record(const Callback& callback) {
    Call call{callback.stream, callback.round, kRight};
    for (size_t i = 0; i < count_; ++i) {
      const unsigned int want =
          callback.stream == kStreams ? combined(i) : output(callback.stream, callback.round, i);
      if (callback.results[i] == want) continue;
      call.wrong_at = i;
      break;
    }
    const std::lock_guard lock(mutex_);
    calls_.push_back(call);
  }

  size_t count_;
  mutable std::mutex mutex_;
  std::vector<Call> calls_;
};

/// Ends the program when event times contradict the order of the events:
/// `total` spans from before the first stream's start to after the last's end.
inline void check_times(const Options& options, const float* streams, int count, float total) {
  constexpr float kResolution = 0.01f;  // ms; events have a resolution of about half a microsecond
  for (int i = 0; i < count; ++i)
    if (!(streams[i] >= 0) || streams[i] > total + kResolution)
      fail(options, "stream %d took %.3f ms by its events, all of it together %.3f ms", i,
           static_cast<double>(streams[i]), static_cast<double>(total));
}

}  // namespace samples
