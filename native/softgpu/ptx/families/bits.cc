// Bits: and or xor not cnot shl shr shf popc clz brev bfind bfe bfi bmsk prmt lop3 szext fns.
#include <type_traits>

#include "softgpu/ptx/families/families.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

template <class F>
Handler predicate_binary(F) {
  return [](Warp& warp, const Inst* in) -> const Inst* {
    warp.set_predicate(in->dst, F{}(warp.predicate(in->src[0]), warp.predicate(in->src[1])));
    return in + 1;
  };
}

template <class T>
int leading_zeros(T v) {
  if (v == 0) return sizeof(T) * 8;
  return sizeof(T) == 8 ? __builtin_clzll(v) : __builtin_clz(static_cast<uint32_t>(v));
}

template <class T>
T reversed(T v) {
  T result = 0;
  for (uint32_t k = 0; k < sizeof(T) * 8; ++k)
    result = static_cast<T>(result | ((v >> k & 1) << (sizeof(T) * 8 - 1 - k)));
  return result;
}

}  // namespace

void select_logic(Emitter& e) {
  const Type type = e.type(0);
  const std::string_view name = e.in().name;
  if (type == Type::kPred) {
    const Slot d = e.predicate_destination(e.operand(0)), a = e.predicate(1);
    const Slot b = name == "not" ? e.constant(0, 0) : e.predicate(2);
    const Handler handler = name == "and"   ? predicate_binary([](uint32_t x, uint32_t y) { return x & y; })
                            : name == "or"  ? predicate_binary([](uint32_t x, uint32_t y) { return x | y; })
                            : name == "xor" ? predicate_binary([](uint32_t x, uint32_t y) { return x ^ y; })
                                            : predicate_binary([](uint32_t x, uint32_t) { return ~x; });
    e.emit(handler, d, {a, b});
    return;
  }
  const Slot d = e.destination(0, type), a = e.source(1, type);
  if (name == "not" || name == "cnot") {
    with_bits(e, type, [&]<class T>() {
      e.emit(name == "not" ? unary<T, T>([](T x) { return static_cast<T>(~x); })
                           : unary<T, T>([](T x) { return static_cast<T>(x == 0 ? 1 : 0); }),
             d, {a});
    });
    return;
  }
  const Slot b = e.source(2, type);
  with_bits(e, type, [&]<class T>() {
    e.emit(name == "and"  ? binary<T, T, T>([](T x, T y) { return static_cast<T>(x & y); })
           : name == "or" ? binary<T, T, T>([](T x, T y) { return static_cast<T>(x | y); })
                          : binary<T, T, T>([](T x, T y) { return static_cast<T>(x ^ y); }),
           d, {a, b});
  });
}

// Shift amounts are unsigned 32-bit and clamp at the width.
void select_shift(Emitter& e) {
  const Type type = e.type(0);
  const bool left = e.in().name == "shl";
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, Type::kU32);
  if (left || !is_signed(type)) {
    with_bits(e, type, [&]<class T>() {
      constexpr uint32_t kWidth = sizeof(T) * 8;
      e.emit(left ? binary<T, T, uint32_t>([](T x, uint32_t n) {
               return static_cast<T>(n < kWidth ? static_cast<T>(x << (n & (kWidth - 1))) : T{0});
             })
                  : binary<T, T, uint32_t>([](T x, uint32_t n) {
                      return static_cast<T>(n < kWidth ? static_cast<T>(x >> (n & (kWidth - 1))) : T{0});
                    }),
             d, {a, b});
    });
    return;
  }
  with_integer(e, type, [&]<class T>() {
    constexpr uint32_t kWidth = sizeof(T) * 8;
    e.emit(binary<T, T, uint32_t>(
               [](T x, uint32_t n) { return static_cast<T>(x >> (n < kWidth ? n : kWidth - 1)); }),
           d, {a, b});
  });
}

// shf: the 64-bit value b:a shifted; .l gives its upper half, .r its lower half.
void select_funnel(Emitter& e) {
  e.type(0);
  const bool left = e.has("l"), clamp = e.has("clamp");
  if (!left && !e.has("r")) e.invalid("expected .l or .r");
  if (!clamp && !e.has("wrap")) e.invalid("expected .clamp or .wrap");
  using U = uint32_t;
  const Slot d = e.destination(0, Type::kB32), a = e.source(1, Type::kB32), b = e.source(2, Type::kB32),
             c = e.source(3, Type::kU32);
  const Handler handler = left
                              ? (clamp ? ternary<U, U, U, U>([](U x, U y, U n) {
                                  const U s = n > 32 ? 32 : n;
                                  return static_cast<U>(((uint64_t{y} << 32 | x) << s) >> 32);
                                })
                                       : ternary<U, U, U, U>([](U x, U y, U n) {
                                           return static_cast<U>(((uint64_t{y} << 32 | x) << (n & 31)) >> 32);
                                         }))
                              : (clamp ? ternary<U, U, U, U>([](U x, U y, U n) {
                                  const U s = n > 32 ? 32 : n;
                                  return static_cast<U>((uint64_t{y} << 32 | x) >> s);
                                })
                                       : ternary<U, U, U, U>([](U x, U y, U n) {
                                           return static_cast<U>((uint64_t{y} << 32 | x) >> (n & 31));
                                         }));
  e.emit(handler, d, {a, b, c});
}

void select_count(Emitter& e) {
  const Type type = e.type(0);
  const std::string_view name = e.in().name;
  const Slot a = e.source(1, type);
  if (name == "brev") {
    const Slot d = e.destination(0, type);
    with_bits(e, type, [&]<class T>() { e.emit(unary<T, T>([](T x) { return reversed<T>(x); }), d, {a}); });
    return;
  }
  const Slot d = e.destination(0, Type::kU32);
  with_bits(e, type, [&]<class T>() {
    e.emit(name == "popc"
               ? unary<uint32_t, T>([](T x) { return static_cast<uint32_t>(__builtin_popcountll(x)); })
               : unary<uint32_t, T>([](T x) { return static_cast<uint32_t>(leading_zeros<T>(x)); }),
           d, {a});
  });
}

// bfind: position of the highest bit that differs from the sign; all ones when there is none.
void select_find(Emitter& e) {
  const Type type = e.type(0);
  const bool amount = e.has("shiftamt");
  const Slot d = e.destination(0, Type::kU32), a = e.source(1, type);
  with_integer(e, type, [&]<class T>() {
    using U = std::make_unsigned_t<T>;
    if constexpr (sizeof(T) >= 4) {
      constexpr uint32_t kTop = sizeof(T) * 8 - 1;
      const auto find = [](T x) {
        const U v = static_cast<U>(x < 0 ? ~x : x);
        return v == 0 ? 0xffffffffu : kTop - static_cast<uint32_t>(leading_zeros<U>(v));
      };
      (void)find;
      using F = decltype(find);
      e.emit(amount ? unary<uint32_t, T>([](T x) {
               const uint32_t at = F{}(x);
               return at == 0xffffffffu ? at : kTop - at;
             })
                    : unary<uint32_t, T>([](T x) { return F{}(x); }),
             d, {a});
    } else {
      e.invalid("16-bit types are not allowed");
    }
  });
}

namespace {

// bfe: position and length are the low 8 bits; beyond the top the field is filled with the sign.
template <class T>
T extract(T value, uint32_t position, uint32_t length) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t kWidth = sizeof(T) * 8;
  position &= 0xff;
  length &= 0xff;
  if (length == 0) return 0;
  const U u = static_cast<U>(value);
  const uint32_t sign_at = position + length - 1 < kWidth - 1 ? position + length - 1 : kWidth - 1;
  const bool sign = std::is_signed_v<T> && (u >> sign_at & 1) != 0;
  U field = position < kWidth ? static_cast<U>(u >> position) : U{0};
  const uint32_t kept = position < kWidth ? (length < kWidth - position ? length : kWidth - position) : 0;
  const U mask = kept >= kWidth ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << kept) - 1);
  field &= mask;
  if (sign) field |= static_cast<U>(~mask);
  return static_cast<T>(field);
}

template <class U>
U insert(U from, U into, uint32_t position, uint32_t length) {
  constexpr uint32_t kWidth = sizeof(U) * 8;
  position &= 0xff;
  length &= 0xff;
  if (position >= kWidth || length == 0) return into;
  const uint32_t kept = length < kWidth - position ? length : kWidth - position;
  const U mask = static_cast<U>((kept >= kWidth ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << kept) - 1))
                                << position);
  return static_cast<U>((into & ~mask) | (static_cast<U>(from << position) & mask));
}

}  // namespace

void select_extract(Emitter& e) {
  const Type type = e.type(0);
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, Type::kU32),
             c = e.source(3, Type::kU32);
  with_integer(e, type, [&]<class T>() {
    e.emit(ternary<T, T, uint32_t, uint32_t>([](T x, uint32_t p, uint32_t n) { return extract<T>(x, p, n); }),
           d, {a, b, c});
  });
}

void select_insert(Emitter& e) {
  const Type type = e.type(0);
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type),
             p = e.source(3, Type::kU32), n = e.source(4, Type::kU32);
  with_bits(e, type, [&]<class T>() {
    e.emit(quaternary<T, T, T, uint32_t, uint32_t>(
               [](T x, T y, uint32_t at, uint32_t length) { return insert<T>(x, y, at, length); }),
           d, {a, b, p, n});
  });
}

// prmt: bytes of b:a picked by the four nibbles of c (bit 3: replicate the sign), or by a mode.
void select_permute(Emitter& e) {
  e.type(0);
  using U = uint32_t;
  const Slot d = e.destination(0, Type::kB32), a = e.source(1, Type::kB32), b = e.source(2, Type::kB32),
             c = e.source(3, Type::kB32);
  const auto pick = [](U x, U y, U selector) {
    const uint64_t bytes = uint64_t{y} << 32 | x;
    U result = 0;
    for (U k = 0; k < 4; ++k) {
      const U s = selector >> (4 * k) & 0xf;
      U byte = static_cast<U>(bytes >> (8 * (s & 7))) & 0xff;
      if ((s & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
      result |= byte << (8 * k);
    }
    return result;
  };
  (void)pick;
  using P = decltype(pick);
  // Selectors of the modes, one for each value of c's two low bits.
  Handler handler = ternary<U, U, U, U>([](U x, U y, U s) { return P{}(x, y, s); });
  if (e.has("f4e")) {
    handler = ternary<U, U, U, U>([](U x, U y, U s) {
      constexpr U kSelectors[4] = {0x3210, 0x4321, 0x5432, 0x6543};
      return P{}(x, y, kSelectors[s & 3]);
    });
  } else if (e.has("b4e")) {
    handler = ternary<U, U, U, U>([](U x, U y, U s) {
      constexpr U kSelectors[4] = {0x5670, 0x6701, 0x7012, 0x0123};
      return P{}(x, y, kSelectors[s & 3]);
    });
  } else if (e.has("rc8")) {
    handler = ternary<U, U, U, U>([](U x, U y, U s) { return P{}(x, y, (s & 3) * 0x1111); });
  } else if (e.has("ecl")) {
    handler = ternary<U, U, U, U>([](U x, U y, U s) {
      constexpr U kSelectors[4] = {0x3210, 0x3211, 0x3222, 0x3333};
      return P{}(x, y, kSelectors[s & 3]);
    });
  } else if (e.has("ecr")) {
    handler = ternary<U, U, U, U>([](U x, U y, U s) {
      constexpr U kSelectors[4] = {0x0000, 0x1110, 0x2210, 0x3210};
      return P{}(x, y, kSelectors[s & 3]);
    });
  } else if (e.has("rc16")) {
    handler = ternary<U, U, U, U>([](U x, U y, U s) { return P{}(x, y, (s & 1) != 0 ? 0x3232 : 0x1010); });
  }
  e.emit(handler, d, {a, b, c});
}

namespace {

const Inst* lop3(Warp& warp, const Inst* in) {
  const uint32_t* const a = warp.src<uint32_t>(in->src[0]);
  const uint32_t* const b = warp.src<uint32_t>(in->src[1]);
  const uint32_t* const c = warp.src<uint32_t>(in->src[2]);
  const auto table = static_cast<uint32_t>(in->imm);
  uint32_t terms[8];
  for (uint32_t k = 0; k < 8; ++k) terms[k] = (table >> k & 1) != 0 ? 0xffffffffu : 0;
  return each<uint32_t>(warp, in, [=](uint32_t i) {
    const uint32_t x = a[i], y = b[i], z = c[i];
    // Three levels of selection: by z, then y, then x.
    const uint32_t z0 = (terms[1] & z) | (terms[0] & ~z), z1 = (terms[3] & z) | (terms[2] & ~z);
    const uint32_t z2 = (terms[5] & z) | (terms[4] & ~z), z3 = (terms[7] & z) | (terms[6] & ~z);
    const uint32_t y0 = (z1 & y) | (z0 & ~y), y1 = (z3 & y) | (z2 & ~y);
    return (y1 & x) | (y0 & ~x);
  });
}

// lop3.BoolOp d|p: p = (d != 0) BoolOp q.
const Inst* lop3_predicate(Warp& warp, const Inst* in) {
  const uint32_t* const d = warp.src<uint32_t>(in->src[0]);
  const uint32_t bits = lane_bits([=](uint32_t i) { return d[i] != 0; });
  const uint32_t q = warp.predicate(in->src[1]);
  warp.set_predicate(in->dst, in->flags == 0 ? bits | q : bits & q);
  return in + 1;
}

}  // namespace

void select_lop3(Emitter& e) {
  const bool is_or = e.has("or"), is_and = e.has("and");
  e.type(0);
  const Slot a = e.source(1, Type::kB32), b = e.source(2, Type::kB32), c = e.source(3, Type::kB32);
  const uint64_t table = e.immediate(4);
  if (table > 255) e.invalid("the table is not a byte");
  Slot d = e.destination(0, Type::kB32);
  const Slot p = e.second_destination();
  e.emit(lop3, d, {a, b, c}).imm = table;
  if (p != kNoSlot) {
    if (!is_or && !is_and) e.invalid("expected .or or .and");
    const Slot q = e.predicate(5);
    e.emit(lop3_predicate, p, {d, q}).flags = is_and ? 1 : 0;
  }
}

void select_bit_mask(Emitter& e) {
  const bool wrap = e.has("wrap");
  if (!wrap && !e.has("clamp")) e.invalid("expected .clamp or .wrap");
  e.type(0);
  using U = uint32_t;
  const Slot d = e.destination(0, Type::kB32), a = e.source(1, Type::kU32), b = e.source(2, Type::kU32);
  e.emit(wrap ? binary<U, U, U>([](U position, U length) {
           return static_cast<U>(((uint64_t{1} << (length & 31)) - 1) << (position & 31));
         })
              : binary<U, U, U>([](U position, U length) {
                  if (position >= 32) return U{0};
                  const U n = length > 32 ? 32 : length;
                  return static_cast<U>(((uint64_t{1} << n) - 1) << position);
                }),
         d, {a, b});
}

void select_sign_extend(Emitter& e) {
  const bool wrap = e.has("wrap");
  if (!wrap && !e.has("clamp")) e.invalid("expected .clamp or .wrap");
  const Type type = e.type(0);
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, Type::kU32);
  const bool sign = is_signed(type);
  using U = uint32_t;
  const auto keep = [](U x, U n, bool extend) {
    if (n == 0) return U{0};
    if (n >= 32) return x;
    const U field = x & ((U{1} << n) - 1);
    return extend && (field >> (n - 1) & 1) != 0 ? field | ~((U{1} << n) - 1) : field;
  };
  (void)keep;
  using K = decltype(keep);
  e.emit(wrap ? (sign ? binary<U, U, U>([](U x, U n) { return K{}(x, n & 31, true); })
                      : binary<U, U, U>([](U x, U n) { return K{}(x, n & 31, false); }))
              : (sign ? binary<U, U, U>([](U x, U n) { return K{}(x, n, true); })
                      : binary<U, U, U>([](U x, U n) { return K{}(x, n, false); })),
         d, {a, b});
}

// fns: the offset-th set bit of the mask, counted from the base upwards or downwards.
void select_find_nth(Emitter& e) {
  e.type(0);
  using U = uint32_t;
  const Slot d = e.destination(0, Type::kB32), mask = e.source(1, Type::kB32), base = e.source(2, Type::kB32),
             offset = e.source(3, Type::kB32);
  e.emit(ternary<U, U, U, U>([](U m, U from, U n) {
           const auto count = static_cast<int32_t>(n);
           if (from > 31) return 0xffffffffu;
           if (count == 0) return (m >> from & 1) != 0 ? from : 0xffffffffu;
           int32_t left = count < 0 ? -count : count;
           const int step = count < 0 ? -1 : 1;
           for (int at = static_cast<int>(from); at >= 0 && at < 32; at += step) {
             if ((m >> at & 1) != 0 && --left == 0) return static_cast<U>(at);
           }
           return 0xffffffffu;
         }),
         d, {mask, base, offset});
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
