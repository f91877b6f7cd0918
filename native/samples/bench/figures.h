// What the programs of the proxy benchmark share.
#pragma once

#include <algorithm>
#include <string>

#include "common/sample.h"

namespace samples {

/// The middle value (the upper of two); 0 for none.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace samples
