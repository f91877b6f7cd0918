// printf, assert, malloc and free as a kernel sees them.
#include "softgpu/ptx/exec/device_functions.h"

#include <cstdio>
#include <cstring>
#include <string>

#include "softgpu/ptx/exec/heap.h"
#include "softgpu/ptx/exec/memory.h"

namespace sluice::ptx {
namespace {

// Longer strings are cut: the text of one print, and of each %s.
constexpr size_t kMaxString = 4096;
constexpr size_t kMaxOutput = 65536;

bool read_string(Warp& warp, const Inst* in, uint32_t lane, uint64_t address, std::string& out) {
  for (size_t k = 0; k < kMaxString; ++k) {
    char c = 0;
    if (!read_generic(warp, in, lane, address + k, &c, 1)) {
      if (warp.state != WarpState::kFault) {
        memory_fault(warp, in, CUDA_ERROR_ILLEGAL_ADDRESS, address + k, 1, "string", false);
      }
      return false;
    }
    if (c == '\0') return true;
    out += c;
  }
  return true;
}

// The arguments of vprintf lie one after the other, each aligned to its size.
class Arguments {
 public:
  Arguments(Warp& warp, const Inst* in, uint32_t lane, uint64_t address)
      : warp_(warp), in_(in), lane_(lane), address_(address) {}

  bool next(uint32_t bytes, uint64_t& value) {
    address_ = (address_ + bytes - 1) & ~uint64_t{bytes - 1};
    value = 0;
    if (!read_generic(warp_, in_, lane_, address_, &value, bytes)) {
      if (warp_.state != WarpState::kFault) {
        memory_fault(warp_, in_, CUDA_ERROR_ILLEGAL_ADDRESS, address_, bytes, "printf argument", false);
      }
      return false;
    }
    address_ += bytes;
    return true;
  }

 private:
  Warp& warp_;
  const Inst* in_;
  uint32_t lane_;
  uint64_t address_;
};

template <class T>
void append(std::string& out, const std::string& conversion, T value) {
  char text[512];
  // The conversion was taken apart below: flags, width, precision, one known letter.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
  const int length = std::snprintf(text, sizeof text, conversion.c_str(), value);
#pragma GCC diagnostic pop
  if (length > 0) out.append(text, std::min(static_cast<size_t>(length), sizeof text - 1));
}

bool print(Warp& warp, const Inst* in, uint32_t lane, uint64_t format_address, uint64_t argument_address,
           uint64_t& result) {
  std::string format;
  if (!read_string(warp, in, lane, format_address, format)) return false;
  Arguments arguments(warp, in, lane, argument_address);
  std::string out;
  uint64_t count = 0;
  for (size_t at = 0; at < format.size() && out.size() < kMaxOutput;) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    if (at + 1 < format.size() && format[at + 1] == '%') {
      out += '%';
      at += 2;
      continue;
    }
    std::string conversion = "%";
    size_t p = at + 1;
    const auto digits = [&] {
      if (p < format.size() && format[p] == '*') {
        uint64_t width = 0;
        if (!arguments.next(4, width)) return false;
        conversion += std::to_string(std::min(std::max(static_cast<int32_t>(width), -400), 400));
        ++p;
        return true;
      }
      int value = 0;
      bool any = false;
      while (p < format.size() && format[p] >= '0' && format[p] <= '9') {
        value = std::min(value * 10 + (format[p++] - '0'), 400);
        any = true;
      }
      if (any) conversion += std::to_string(value);
      return true;
    };
    while (p < format.size() && std::string_view("-+ #0").find(format[p]) != std::string_view::npos) {
      if (conversion.size() < 8) conversion += format[p];
      ++p;
    }
    if (!digits()) return false;
    if (p < format.size() && format[p] == '.') {
      conversion += '.';
      ++p;
      if (!digits()) return false;
    }
    int longs = 0;
    while (p < format.size() && std::string_view("hljztL").find(format[p]) != std::string_view::npos) {
      longs += format[p] != 'h';
      ++p;
    }
    if (p >= format.size()) break;
    const char letter = format[p++];
    uint64_t value = 0;
    ++count;
    switch (letter) {
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        if (!arguments.next(longs != 0 ? 8 : 4, value)) return false;
        if (longs == 0 && (letter == 'd' || letter == 'i')) {
          value = static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)});
        }
        append(out, conversion + "ll" + letter, static_cast<unsigned long long>(value));
        break;
      case 'c':
        if (!arguments.next(4, value)) return false;
        append(out, conversion + "c", static_cast<int>(value));
        break;
      case 'p':
        if (!arguments.next(8, value)) return false;
        append(out, conversion + "p", reinterpret_cast<void*>(value));
        break;
      case 's': {
        if (!arguments.next(8, value)) return false;
        std::string text;
        if (value != 0 && !read_string(warp, in, lane, value, text)) return false;
        append(out, conversion + "s", value != 0 ? text.c_str() : "(null)");
        break;
      }
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
      case 'a':
      case 'A': {
        if (!arguments.next(8, value)) return false;
        double real = 0;
        std::memcpy(&real, &value, sizeof real);
        append(out, conversion + letter, real);
        break;
      }
      default:  // not a conversion: shown as it is written
        out.append(format, at, p - at);
        --count;
        break;
    }
    at = p;
  }
  if (warp.block->launch->environment->print) warp.block->launch->environment->print(out);
  result = count;
  return true;
}

bool assert_fail(Warp& warp, const Inst* in, uint32_t lane, const uint64_t* arguments) {
  std::string expression, file, function;
  if (!read_string(warp, in, lane, arguments[0], expression) ||
      !read_string(warp, in, lane, arguments[1], file) ||
      !read_string(warp, in, lane, arguments[3], function)) {
    return false;
  }
  const Dim3 block = warp.block->index;
  const Dim3 size = warp.block->launch->block;
  const uint32_t thread = warp.index * kLanes + lane;
  char text[1024];
  std::snprintf(text, sizeof text,
                "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file.c_str(),
                static_cast<uint32_t>(arguments[2]), function.c_str(), block.x, block.y, block.z,
                thread % size.x, thread / size.x % size.y, thread / size.x / size.y, expression.c_str());
  if (warp.block->launch->environment->print) warp.block->launch->environment->print(text);
  fault(warp, in, CUDA_ERROR_ASSERT, "assertion `" + expression + "` failed");
  return false;
}

}  // namespace

DeviceFunction device_function(std::string_view name) {
  if (name == "vprintf") return DeviceFunction::kPrintf;
  if (name == "__assertfail") return DeviceFunction::kAssertFail;
  if (name == "malloc") return DeviceFunction::kMalloc;
  if (name == "free") return DeviceFunction::kFree;
  return DeviceFunction::kUnknown;
}

bool run_device_function(DeviceFunction which, Warp& warp, const Inst* in, uint32_t lane,
                         const uint64_t* arguments, uint64_t& result) {
  switch (which) {
    case DeviceFunction::kPrintf:
      return print(warp, in, lane, arguments[0], arguments[1], result);
    case DeviceFunction::kAssertFail:
      return assert_fail(warp, in, lane, arguments);
    case DeviceFunction::kMalloc:
      result = heap_allocate(arguments[0]);
      return true;
    case DeviceFunction::kFree:
      if (heap_free(arguments[0])) return true;
      fault(warp, in, CUDA_ERROR_ILLEGAL_ADDRESS, "free of an address that malloc did not give");
      return false;
    default:
      fault(warp, in, CUDA_ERROR_ILLEGAL_INSTRUCTION, "call of an unknown function");
      return false;
  }
}

}  // namespace sluice::ptx
