// Device memory that the host can read and write where it lies, as the software GPU's: copies then go
// between the connection and that memory, with nothing in between.
#pragma once

#include <cstdint>

#include "generated/driver_table.h"

namespace sluice::worker {

class HostVisible {
 public:
  // Asks the driver's library; NVIDIA's does not know the question.
  explicit HostVisible(generated::DriverTable& driver);

  // The range in the current context, when it is device memory from end to end and the stream does what it
  // is given instead of capturing it. Null: go through staging.
  uint8_t* find(CUdeviceptr address, uint64_t bytes, CUstream stream) const;
  // The same when work in the stream would begin at once, so that writing now is what it would do next.
  uint8_t* find_idle(CUdeviceptr address, uint64_t bytes, CUstream stream) const;

  // Below this, the questions cost more than copying once more.
  static constexpr uint64_t kLeast = 32u << 10;

 private:
  bool captures(CUstream stream) const;

  generated::DriverTable& driver_;
  bool visible_ = false;
};

}  // namespace sluice::worker
