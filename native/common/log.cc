#include "common/log.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <string>

#include "common/env.h"

namespace sluice::log {

namespace {

constexpr size_t kMaxLine = 2048;
constexpr std::string_view kNames[] = {"error", "warn", "info", "debug"};

Level level_from_environment() {
  const auto wanted = env::text("SLUICE_LOG");
  for (int i = 0; wanted && i < 4; i++) {
    if (kNames[i] == *wanted) return static_cast<Level>(i);
  }
  return Level::warn;
}

std::atomic<int>& current_level() {
  static std::atomic<int> level{static_cast<int>(level_from_environment())};
  return level;
}

std::atomic<Sink> current_sink{nullptr};

void write_to_stderr(Level level, std::string_view message) {
  std::string line = "sluice: ";
  if (level == Level::debug) line += "debug: ";
  line += message;
  line += '\n';
  // Nobody is left to tell when stderr is gone.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

std::string_view level_name(Level level) { return kNames[static_cast<int>(level)]; }

Level level() { return static_cast<Level>(current_level().load(std::memory_order_relaxed)); }

void set_level(Level level) { current_level().store(static_cast<int>(level), std::memory_order_relaxed); }

void set_sink(Sink sink) { current_sink.store(sink); }

void write(Level level, const char* format, ...) {
  char line[kMaxLine];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  const std::string_view message(line, std::min(static_cast<size_t>(length), sizeof line - 1));
  const Sink sink = current_sink.load();
  sink ? sink(level, message) : write_to_stderr(level, message);
}

}  // namespace sluice::log
