#include "softgpu/ptx/parse/types.h"

#include <array>
#include <utility>

namespace sluice::ptx {
namespace {

constexpr std::array<std::pair<std::string_view, Type>, 26> kNames{{
    {"pred", Type::kPred},   {"b8", Type::kB8},         {"b16", Type::kB16},       {"b32", Type::kB32},
    {"b64", Type::kB64},     {"b128", Type::kB128},     {"u8", Type::kU8},         {"u16", Type::kU16},
    {"u32", Type::kU32},     {"u64", Type::kU64},       {"s8", Type::kS8},         {"s16", Type::kS16},
    {"s32", Type::kS32},     {"s64", Type::kS64},       {"f16", Type::kF16},       {"bf16", Type::kBF16},
    {"f16x2", Type::kF16x2}, {"bf16x2", Type::kBF16x2}, {"f32", Type::kF32},       {"f64", Type::kF64},
    {"tf32", Type::kTF32},   {"e4m3x2", Type::kE4M3x2}, {"e5m2x2", Type::kE5M2x2}, {"u16x2", Type::kU16x2},
    {"s16x2", Type::kS16x2}, {"f32x2", Type::kF32x2},
}};

}  // namespace

Type type_from_name(std::string_view name) {
  if (name.size() < 2 || name.size() > 6) return Type::kNone;
  for (const auto& [text, type] : kNames) {
    if (text == name) return type;
  }
  return Type::kNone;
}

std::string_view type_name(Type type) {
  for (const auto& [text, candidate] : kNames) {
    if (candidate == type) return text;
  }
  return "none";
}

}  // namespace sluice::ptx
