#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>

#include "common/env.h"
#include "wire/hello.h"

namespace sluice::wire {

namespace {

constexpr size_t kMaxCommandBytes = 1024;
constexpr size_t kMaxPathBytes = 512;

std::string command_line() {
  std::ifstream stream("/proc/self/cmdline", std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text) {
    if (c == '\0' || c == '\n') c = ' ';
  }
  return text.substr(0, kMaxCommandBytes);
}

// From the file alone: asking the name services could load libraries into the program and wait for
// a directory server.
std::string user_name() {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/etc/passwd", "re"), &std::fclose);
  std::array<char, 4096> buffer;
  passwd entry{};
  passwd* found = nullptr;
  while (file && ::fgetpwent_r(file.get(), &entry, buffer.data(), buffer.size(), &found) == 0) {
    if (entry.pw_uid == ::getuid()) return entry.pw_name;
  }
  return env::text("USER").value_or(std::to_string(::getuid()));
}

}  // namespace

ProgramInfo this_program() {
  ProgramInfo program;
  program.command = command_line();
  program.user = user_name();
  program.pid = ::getpid();
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) program.host = host.data();
  std::array<char, 4096> cwd{};
  if (::getcwd(cwd.data(), cwd.size())) program.cwd = std::string(cwd.data()).substr(0, kMaxPathBytes);
  return program;
}

}  // namespace sluice::wire
