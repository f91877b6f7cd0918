// Matrix fragments held by a whole warp: ldmatrix, and mma.sync for the shapes that libraries' PTX for
// compute_80 to compute_90 contains. Which lane holds which element: PTX ISA, "Matrix Fragments for mma".
#include <cmath>
#include <cstring>

#include "softgpu/ptx/families/access.h"
#include "softgpu/ptx/families/half.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

// extra: the destination slots; src[3]: how many matrices. Lane i names row i % 8 of matrix i / 8.
template <bool kTransposed>
const Inst* load_matrices(Warp& warp, const Inst* in) {
  const uint32_t* const slots = &warp.frame->code->extra[in->extra];
  const uint32_t matrices = in->src[3];
  Addresses from;
  compute_addresses(warp, in, in->src[0], from);
  uint16_t rows[4][8][8] = {};
  for (uint32_t i = 0; i < matrices * 8; ++i) {
    if ((warp.exec >> i & 1) == 0) continue;
    const auto space = static_cast<MemorySpace>(in->flags >> 8);
    if (!load_lane(warp, in, space, i, from.at[i], rows[i / 8][i % 8], 16)) return nullptr;
  }
  for (uint32_t m = 0; m < matrices; ++m) {
    uint32_t pairs[kLanes];
    for (uint32_t i = 0; i < kLanes; ++i) {
      const uint32_t at = i / 4, pair = i % 4 * 2;
      const uint32_t low = kTransposed ? rows[m][pair][at] : rows[m][at][pair];
      const uint32_t high = kTransposed ? rows[m][pair + 1][at] : rows[m][at][pair + 1];
      pairs[i] = low | high << 16;
    }
    blend(warp.dst<uint32_t>(slots[m]), pairs, warp.exec);
  }
  return in + 1;
}

// How a format's elements lie in the registers of A and B: kPack side by side in a register.
struct F16 {
  static constexpr uint32_t kPack = 2;
  static float value(uint32_t bits) { return half_to_float(static_cast<uint16_t>(bits)); }
};
struct BF16 {
  static constexpr uint32_t kPack = 2;
  static float value(uint32_t bits) { return bfloat_to_float(static_cast<uint16_t>(bits)); }
};
struct TF32 {
  static constexpr uint32_t kPack = 1;
  static float value(uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000u); }
};

// D = A * B + C with A of 16 x kDepth and B of kDepth x 8, sums in f32. extra: slots of D, A, B, C.
// kHalfSums: C and D are pairs of f16, rounded once from the sum in f32.
template <class Format, uint32_t kDepth, bool kHalfSums>
const Inst* multiply(Warp& warp, const Inst* in) {
  use_float_mode(warp, in->float_mode);
  constexpr uint32_t kSums = kHalfSums ? 2 : 4;
  constexpr uint32_t kGroup = 4 * Format::kPack;  // columns of A that one register of all lanes covers
  constexpr uint32_t kPieces = kDepth / kGroup;
  const uint32_t* const d = &warp.frame->code->extra[in->extra];
  const uint32_t* const a = d + kSums;
  const uint32_t* const b = a + 2 * kPieces;
  const uint32_t* const c = b + kPieces;
  float left[16][kDepth], right[kDepth][8], sums[16][8];
  for (uint32_t piece = 0; piece < kPieces; ++piece) {
    const uint32_t* const upper = warp.src<uint32_t>(a[2 * piece]);
    const uint32_t* const lower = warp.src<uint32_t>(a[2 * piece + 1]);
    const uint32_t* const column = warp.src<uint32_t>(b[piece]);
    for (uint32_t i = 0; i < kLanes; ++i) {
      for (uint32_t p = 0; p < Format::kPack; ++p) {
        const uint32_t k = piece * kGroup + i % 4 * Format::kPack + p;
        left[i / 4][k] = Format::value(upper[i] >> 16 * p);
        left[i / 4 + 8][k] = Format::value(lower[i] >> 16 * p);
        right[k][i / 4] = Format::value(column[i] >> 16 * p);
      }
    }
  }
  // Sum number s of lane i is at row i / 4 + 8 * (s / 2), column i % 4 * 2 + s % 2.
  for (uint32_t s = 0; s < 4; ++s) {
    const uint32_t* const from = warp.src<uint32_t>(c[kHalfSums ? s / 2 : s]);
    for (uint32_t i = 0; i < kLanes; ++i) {
      sums[i / 4 + 8 * (s / 2)][i % 4 * 2 + s % 2] =
          kHalfSums ? half_to_float(static_cast<uint16_t>(from[i] >> 16 * (s % 2)))
                    : std::bit_cast<float>(from[i]);
    }
  }
  for (uint32_t row = 0; row < 16; ++row) {
    for (uint32_t k = 0; k < kDepth; ++k) {
      for (uint32_t n = 0; n < 8; ++n) sums[row][n] += left[row][k] * right[k][n];
    }
  }
  for (uint32_t s = 0; s < kSums; ++s) {
    uint32_t out[kLanes];
    for (uint32_t i = 0; i < kLanes; ++i) {
      if constexpr (kHalfSums) {
        const float* const pair = &sums[i / 4 + 8 * s][i % 4 * 2];
        out[i] = float_to_half(pair[0], kNearest) | static_cast<uint32_t>(float_to_half(pair[1], kNearest))
                                                        << 16;
      } else {
        out[i] = std::bit_cast<uint32_t>(sums[i / 4 + 8 * (s / 2)][i % 4 * 2 + s % 2]);
      }
    }
    blend(warp.dst<uint32_t>(d[s]), out, warp.exec);
  }
  return in + 1;
}

// 8 x 8 x 4 in f64, each step rounded once.
const Inst* multiply_f64(Warp& warp, const Inst* in) {
  use_float_mode(warp, in->float_mode);
  const uint32_t* const slots = &warp.frame->code->extra[in->extra];
  const double* const a = warp.src<double>(slots[2]);
  const double* const b = warp.src<double>(slots[3]);
  double sums[2][kLanes];
  for (uint32_t s = 0; s < 2; ++s) {
    const double* const c = warp.src<double>(slots[4 + s]);
    for (uint32_t i = 0; i < kLanes; ++i) {
      double sum = c[i];
      for (uint32_t k = 0; k < 4; ++k) sum = std::fma(a[i / 4 * 4 + k], b[(i % 4 * 2 + s) * 4 + k], sum);
      sums[s][i] = sum;
    }
  }
  for (uint32_t s = 0; s < 2; ++s) blend(warp.dst<double>(slots[s]), sums[s], warp.exec);
  return in + 1;
}

template <class Format, uint32_t kDepth>
Handler multiply_for(bool half_sums) {
  return half_sums ? multiply<Format, kDepth, true> : multiply<Format, kDepth, false>;
}

// The registers of a fragment, written in braces or, when there is one, alone.
void fragment(Emitter& e, uint32_t index, uint32_t count, Type type, bool written, std::vector<Slot>& out) {
  const Operand& operand = e.operand(index);
  const bool vector = operand.kind == OperandKind::kVector;
  if ((vector ? operand.count : 1u) != count) e.invalid("a fragment has the wrong number of registers");
  for (uint32_t k = 0; k < count; ++k) {
    const Operand& element = vector ? e.element(operand, k) : operand;
    out.push_back(written ? e.destination(element, type) : e.source(element, type));
  }
}

}  // namespace

void select_load_matrix(Emitter& e) {
  e.has("sync");
  e.has("aligned");
  if (!e.has("m8n8")) e.unsupported("the shape is not supported");
  const uint32_t matrices = e.has("x4") ? 4 : e.has("x2") ? 2 : e.has("x1") ? 1 : 0;
  if (matrices == 0) e.invalid("expected .x1, .x2 or .x4");
  const bool transposed = e.has("trans");
  const MemorySpace space = take_space(e);
  if (e.type(0) != Type::kB16) e.unsupported("the type is not supported");
  const Address address = address_of(e, e.operand(1), space);
  std::vector<Slot> slots;
  fragment(e, 0, matrices, Type::kB32, true, slots);
  const uint32_t extra = e.extra_size();
  for (const Slot slot : slots) e.add_extra(slot);
  Inst& inst = e.emit(transposed ? load_matrices<true> : load_matrices<false>, kNoSlot, {address.base});
  inst.imm = address.distance;
  inst.flags = static_cast<uint16_t>(address_flags(address) | static_cast<uint32_t>(address.space) << 8);
  inst.src[3] = matrices;
  inst.extra = extra;
}

void select_multiply_matrix(Emitter& e) {
  e.has("sync");
  e.has("aligned");
  const bool f64 = e.has("m8n8k4");
  const uint32_t depth = f64 ? 4 : e.has("m16n8k16") ? 16 : e.has("m16n8k8") ? 8 : e.has("m16n8k4") ? 4 : 0;
  if (depth == 0 || !e.has("row") || !e.has("col")) e.unsupported("the shape is not supported");
  const Type d = e.type(0), a = e.type(1), b = e.type(2), c = e.type(3);
  const bool half_sums = d == Type::kF16;
  const bool single = d == Type::kF32 || (half_sums && a == Type::kF16);
  Handler handler = nullptr;
  uint32_t pack = 1;
  if (f64 && d == Type::kF64 && a == Type::kF64) {
    handler = multiply_f64;
  } else if (!f64 && single && a == Type::kF16 && depth != 4) {
    handler = depth == 16 ? multiply_for<F16, 16>(half_sums) : multiply_for<F16, 8>(half_sums);
    pack = 2;
  } else if (!f64 && single && a == Type::kBF16 && depth != 4) {
    handler = depth == 16 ? multiply<BF16, 16, false> : multiply<BF16, 8, false>;
    pack = 2;
  } else if (!f64 && single && a == Type::kTF32 && depth != 16) {
    handler = depth == 8 ? multiply<TF32, 8, false> : multiply<TF32, 4, false>;
  }
  if (handler == nullptr || b != a || c != d) e.unsupported("the shape or type is not supported");
  const Type word = f64 ? Type::kB64 : Type::kB32;
  const uint32_t sums = f64 || half_sums ? 2 : 4;
  const uint32_t pieces = f64 ? 1 : depth / (4 * pack);
  std::vector<Slot> slots;
  fragment(e, 0, sums, word, true, slots);
  fragment(e, 1, f64 ? 1 : 2 * pieces, word, false, slots);
  fragment(e, 2, pieces, word, false, slots);
  fragment(e, 3, sums, word, false, slots);
  const uint32_t extra = e.extra_size();
  for (const Slot slot : slots) e.add_extra(slot);
  e.emit(handler, kNoSlot, {}).extra = extra;
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
