#include "wire/adaptive_poll.h"

#include <unistd.h>

namespace sluice::wire {

bool AdaptivePoll::cores_to_spare() {
  // Of the machine: a process that is bound to one core may still poll while its peer has another.
  static const bool several = ::sysconf(_SC_NPROCESSORS_ONLN) > 1;
  return several;
}

}  // namespace sluice::wire
