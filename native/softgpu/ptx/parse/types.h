// PTX fundamental types (PTX ISA, "Types") and what the engine needs to know of each.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::ptx {

enum class Type : uint8_t {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kBF16,
  kF16x2,
  kBF16x2,
  kF32,
  kF64,
  kTF32,
  kE4M3x2,
  kE5M2x2,
  kU16x2,
  kS16x2,
  kF32x2,
};

// The type that a modifier such as "s32" names; kNone when it names none.
Type type_from_name(std::string_view name);
std::string_view type_name(Type type);

// Size in bytes of one value; 0 for predicates and kNone.
constexpr uint32_t type_bytes(Type type) {
  switch (type) {
    case Type::kB8:
    case Type::kU8:
    case Type::kS8:
      return 1;
    case Type::kB16:
    case Type::kU16:
    case Type::kS16:
    case Type::kF16:
    case Type::kBF16:
    case Type::kE4M3x2:
    case Type::kE5M2x2:
      return 2;
    case Type::kB32:
    case Type::kU32:
    case Type::kS32:
    case Type::kF32:
    case Type::kF16x2:
    case Type::kBF16x2:
    case Type::kTF32:
    case Type::kU16x2:
    case Type::kS16x2:
      return 4;
    case Type::kB64:
    case Type::kU64:
    case Type::kS64:
    case Type::kF64:
    case Type::kF32x2:
      return 8;
    case Type::kB128:
      return 16;
    case Type::kNone:
    case Type::kPred:
      return 0;
  }
  return 0;
}

constexpr bool is_signed(Type type) {
  return type == Type::kS8 || type == Type::kS16 || type == Type::kS32 || type == Type::kS64;
}

constexpr bool is_unsigned(Type type) {
  return type == Type::kU8 || type == Type::kU16 || type == Type::kU32 || type == Type::kU64;
}

constexpr bool is_integer(Type type) { return is_signed(type) || is_unsigned(type); }

constexpr bool is_bits(Type type) {
  return type == Type::kB8 || type == Type::kB16 || type == Type::kB32 || type == Type::kB64 ||
         type == Type::kB128;
}

constexpr bool is_float(Type type) {
  return type == Type::kF16 || type == Type::kBF16 || type == Type::kF16x2 || type == Type::kBF16x2 ||
         type == Type::kF32 || type == Type::kF64 || type == Type::kTF32;
}

}  // namespace sluice::ptx
