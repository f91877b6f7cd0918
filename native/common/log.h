// Log lines for people, one line each, to stderr unless a sink is set. SLUICE_LOG
// (error, warn, info, debug) says which; the default is warn.
#pragma once

#include <string_view>

namespace sluice::log {

enum class Level { error = 0, warn = 1, info = 2, debug = 3 };

std::string_view level_name(Level level);

Level level();
void set_level(Level level);
inline bool enabled(Level wanted) { return wanted <= level(); }

// Replaces stderr, for example by the control socket; nullptr restores it. Called from any thread.
using Sink = void (*)(Level level, std::string_view message);
void set_sink(Sink sink);

// Formats as printf; the text is cut at 2 KiB. The line on stderr is one write and starts with "sluice: ".
void write(Level level, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace sluice::log

// Arguments are evaluated only when the level is on.
#define SLUICE_LOG_AT(level_, ...)                                                 \
  do {                                                                             \
    if (::sluice::log::enabled(level_)) ::sluice::log::write(level_, __VA_ARGS__); \
  } while (0)
#define SLUICE_ERROR(...) SLUICE_LOG_AT(::sluice::log::Level::error, __VA_ARGS__)
#define SLUICE_WARN(...) SLUICE_LOG_AT(::sluice::log::Level::warn, __VA_ARGS__)
#define SLUICE_INFO(...) SLUICE_LOG_AT(::sluice::log::Level::info, __VA_ARGS__)
#define SLUICE_DEBUG(...) SLUICE_LOG_AT(::sluice::log::Level::debug, __VA_ARGS__)
