// Figures of this process, written at its end where SLUICE_STATS says (a path, or - for stderr).
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::client {

struct Stats {
  std::atomic<uint64_t> calls{0};        // driver functions called, counted only when SLUICE_STATS is set
  std::atomic<uint64_t> round_trips{0};  // times that a thread waited for an answer
  std::atomic<uint64_t> launches{0};     // kernels
  std::atomic<uint64_t> bulk_copies{0};  // frames with bulk data, either way
};

Stats& stats();

// Whether the environment asks for the figures.
bool stats_wanted();

// Writes them as one line of JSON; the byte counts are the connections'.
void write_stats(uint64_t bytes_sent, uint64_t bytes_received);

}  // namespace sluice::client
