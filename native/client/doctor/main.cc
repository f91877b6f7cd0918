// sluice-doctor: does with libcuda.so.1 what NVIDIA's runtime libraries do when they start, then computes and
// measures. `sluice doctor` runs it as a program of the pool and explains what it prints: lines of JSON.
#include <cstdio>

#include "client/doctor/measure.h"
#include "client/doctor/servers.h"
#include "client/doctor/start_sequence.h"
#include "client/doctor/steps.h"
#include "common/version.h"

int main() {
  using namespace sluice::doctor;
  Steps steps;
  Driver driver;
  steps.value("version", sluice::json::Value(sluice::version()));
  ask_servers(steps);
  if (run_start_sequence(steps, driver)) run_measurements(steps, driver);
  return steps.all_well() ? 0 : 1;
}
