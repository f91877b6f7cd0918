// Integer arithmetic: add sub mul mad div rem abs neg min max sad dp4a dp2a, and the carry chain.
#include <limits>
#include <type_traits>

#include "softgpu/ptx/families/families.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
using Wider = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128_t, __uint128_t>>>;

template <class T>
T high(T a, T b) {
  return static_cast<T>((static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b)) >> (sizeof(T) * 8));
}
// Multiplication modulo the width, without the promotion of 16-bit operands to int overflowing.
template <class T>
T low(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// d = a + b (+ carry), or a - b (- borrow), the latter as a + ~b + 1. CC.CF is the carry of an addition
// and the borrow of a subtraction.
template <class T, bool kSubtract>
const Inst* carry_add(Warp& warp, const Inst* in) {
  const T* const a = warp.src<T>(in->src[0]);
  const T* const b = warp.src<T>(in->src[1]);
  T* const d = warp.dst<T>(in->dst);
  const bool takes = (in->flags & 1) != 0;
  const bool gives = (in->flags & 2) != 0;
  uint32_t carry = warp.carry;
  for (uint32_t bits = warp.exec; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(bits));
    const T y = kSubtract ? static_cast<T>(~b[i]) : b[i];
    const T c =
        takes ? static_cast<T>((carry >> i & 1) ^ (kSubtract ? 1u : 0u)) : static_cast<T>(kSubtract ? 1 : 0);
    T sum = 0;
    bool over = __builtin_add_overflow(a[i], y, &sum);
    over |= __builtin_add_overflow(sum, c, &sum);
    d[i] = sum;
    if (gives) carry = (carry & ~(1u << i)) | static_cast<uint32_t>(over != kSubtract) << i;
  }
  warp.carry = carry;
  return in + 1;
}

template <class T, bool kHigh>
const Inst* carry_mad(Warp& warp, const Inst* in) {
  using U = Unsigned<T>;
  const T* const a = warp.src<T>(in->src[0]);
  const T* const b = warp.src<T>(in->src[1]);
  const U* const c = warp.src<U>(in->src[2]);
  U* const d = warp.dst<U>(in->dst);
  const bool takes = (in->flags & 1) != 0;
  const bool gives = (in->flags & 2) != 0;
  uint32_t carry = warp.carry;
  for (uint32_t bits = warp.exec; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(bits));
    const U product = static_cast<U>(kHigh ? high(a[i], b[i]) : low(a[i], b[i]));
    U sum = 0;
    bool over = __builtin_add_overflow(product, c[i], &sum);
    if (takes) over |= __builtin_add_overflow(sum, static_cast<U>(carry >> i & 1), &sum);
    d[i] = sum;
    if (gives) carry = (carry & ~(1u << i)) | static_cast<uint32_t>(over) << i;
  }
  warp.carry = carry;
  return in + 1;
}

uint16_t carry_flags(Emitter& e, bool takes) {
  return static_cast<uint16_t>((takes ? 1 : 0) | (e.has("cc") ? 2 : 0));
}

template <bool kSubtract>
void select_carry(Emitter& e, bool takes) {
  const uint16_t flags = carry_flags(e, takes);
  const Type type = e.type(0);
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type);
  with_bits(e, type, [&]<class T>() { e.emit(carry_add<T, kSubtract>, d, {a, b}).flags = flags; });
}

struct Packed {
  template <class F>
  static uint32_t each(uint32_t a, uint32_t b, F f) {
    const auto lo = static_cast<uint16_t>(f(static_cast<uint16_t>(a), static_cast<uint16_t>(b)));
    const auto hi = static_cast<uint16_t>(f(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16)));
    return lo | static_cast<uint32_t>(hi) << 16;
  }
};

}  // namespace

void select_integer_add(Emitter& e) {
  if (e.in().name == "addc") return select_carry<false>(e, true);
  if (e.in().name == "subc") return select_carry<true>(e, true);
  const bool subtract = e.in().name == "sub";
  for (uint32_t i = 0; i < e.in().modifier_count; ++i) {
    if (e.function().modifier(e.in(), i) == "cc") {
      return subtract ? select_carry<true>(e, false) : select_carry<false>(e, false);
    }
  }
  const Type type = e.type(0);
  const bool saturate = e.has("sat");
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type);
  if (type == Type::kU16x2 || type == Type::kS16x2) {
    if (saturate) e.unsupported("saturation of packed integers is not supported");
    e.emit(subtract ? binary<uint32_t, uint32_t, uint32_t>([](uint32_t x, uint32_t y) {
             return Packed::each(x, y, [](uint16_t p, uint16_t q) { return p - q; });
           })
                    : binary<uint32_t, uint32_t, uint32_t>([](uint32_t x, uint32_t y) {
                        return Packed::each(x, y, [](uint16_t p, uint16_t q) { return p + q; });
                      }),
           d, {a, b});
    return;
  }
  if (saturate) {
    if (type != Type::kS32) e.invalid(".sat needs .s32");
    const auto clamp = [](int64_t v) {
      return static_cast<int32_t>(
          v > std::numeric_limits<int32_t>::max()   ? std::numeric_limits<int32_t>::max()
          : v < std::numeric_limits<int32_t>::min() ? std::numeric_limits<int32_t>::min()
                                                    : v);
    };
    (void)clamp;
    e.emit(subtract ? binary<int32_t, int32_t, int32_t>(
                          [](int32_t x, int32_t y) { return decltype(clamp){}(int64_t{x} - y); })
                    : binary<int32_t, int32_t, int32_t>(
                          [](int32_t x, int32_t y) { return decltype(clamp){}(int64_t{x} + y); }),
           d, {a, b});
    return;
  }
  with_integer(e, type, [&]<class T>() {
    using U = Unsigned<T>;
    e.emit(subtract ? binary<U, U, U>([](U x, U y) { return static_cast<U>(x - y); })
                    : binary<U, U, U>([](U x, U y) { return static_cast<U>(x + y); }),
           d, {a, b});
  });
}

void select_integer_mul(Emitter& e) {
  const Type type = e.type(0);
  const bool wide = e.has("wide"), hi = e.has("hi"), lo = e.has("lo");
  if (!wide && !hi && !lo) e.invalid("expected .lo, .hi or .wide");
  const Slot a = e.source(1, type), b = e.source(2, type);
  with_integer(e, type, [&]<class T>() {
    if (wide) {
      if constexpr (sizeof(T) < 8) {
        const Type result = sizeof(T) == 2 ? Type::kB32 : Type::kB64;
        e.emit(binary<Wider<T>, T, T>([](T x, T y) {
                 return static_cast<Wider<T>>(static_cast<Wider<T>>(x) * static_cast<Wider<T>>(y));
               }),
               e.destination(0, result), {a, b});
      } else {
        e.invalid("64-bit operands have no .wide product");
      }
      return;
    }
    const Slot d = e.destination(0, type);
    e.emit(hi ? binary<T, T, T>([](T x, T y) { return high<T>(x, y); })
              : binary<T, T, T>([](T x, T y) { return low<T>(x, y); }),
           d, {a, b});
  });
}

void select_integer_mad(Emitter& e) {
  const Type type = e.type(0);
  const bool wide = e.has("wide"), hi = e.has("hi");
  if (!wide && !hi && !e.has("lo")) e.invalid("expected .lo, .hi or .wide");
  const bool takes = e.in().name == "madc";
  const uint16_t flags = carry_flags(e, takes);
  const bool saturate = e.has("sat");
  const Slot a = e.source(1, type), b = e.source(2, type);
  with_integer(e, type, [&]<class T>() {
    using U = Unsigned<T>;
    if (wide) {
      if constexpr (sizeof(T) < 8) {
        using W = Wider<T>;
        using V = Unsigned<W>;
        const Type result = sizeof(T) == 2 ? Type::kB32 : Type::kB64;
        const Slot c = e.source(3, result);
        e.emit(ternary<V, T, T, V>([](T x, T y, V z) {
                 return static_cast<V>(static_cast<V>(static_cast<W>(static_cast<W>(x) * static_cast<W>(y))) +
                                       z);
               }),
               e.destination(0, result), {a, b, c});
      } else {
        e.invalid("64-bit operands have no .wide product");
      }
      return;
    }
    const Slot d = e.destination(0, type), c = e.source(3, type);
    if (flags != 0) {
      e.emit(hi ? carry_mad<T, true> : carry_mad<T, false>, d, {a, b, c}).flags = flags;
    } else if (saturate) {
      if constexpr (std::is_same_v<T, int32_t>) {
        if (!hi) e.invalid(".sat needs .hi");
        e.emit(
            ternary<T, T, T, T>([](T x, T y, T z) {
              const int64_t v = int64_t{high<T>(x, y)} + z;
              return static_cast<T>(v > 0x7fffffffLL ? 0x7fffffffLL : v < -0x80000000LL ? -0x80000000LL : v);
            }),
            d, {a, b, c});
      } else {
        e.invalid(".sat needs .s32");
      }
    } else {
      e.emit(hi ? ternary<U, T, T, U>(
                      [](T x, T y, U z) { return static_cast<U>(static_cast<U>(high<T>(x, y)) + z); })
                : ternary<U, U, U, U>([](U x, U y, U z) { return static_cast<U>(low<U>(x, y) + z); }),
             d, {a, b, c});
    }
  });
}

// mul24/mad24: the low 24 bits of each operand; .lo gives bits 0-31 of the 48-bit product, .hi 16-47.
void select_mul24(Emitter& e) {
  const Type type = e.type(0);
  const bool hi = e.has("hi");
  if (!hi && !e.has("lo")) e.invalid("expected .lo or .hi");
  const bool mad = e.in().name == "mad24";
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type);
  const Slot c = mad ? e.source(3, type) : e.constant(0, 4);
  if (e.has("sat")) e.unsupported("saturation is not supported");
  with_integer(e, type, [&]<class T>() {
    if constexpr (sizeof(T) == 4) {
      const auto product = [](T x, T y) {
        const auto narrow = [](T v) {
          return static_cast<int64_t>(static_cast<T>(static_cast<uint32_t>(v) << 8) >> 8);
        };
        return narrow(x) * narrow(y);
      };
      (void)product;
      using P = decltype(product);
      e.emit(hi ? ternary<uint32_t, T, T, uint32_t>(
                      [](T x, T y, uint32_t z) { return static_cast<uint32_t>(P{}(x, y) >> 16) + z; })
                : ternary<uint32_t, T, T, uint32_t>(
                      [](T x, T y, uint32_t z) { return static_cast<uint32_t>(P{}(x, y)) + z; }),
             d, {a, b, c});
    } else {
      e.invalid("expected a 32-bit type");
    }
  });
}

// Division by zero gives all ones and the dividend as remainder; the ISA leaves both open.
void select_integer_div(Emitter& e) {
  const Type type = e.type(0);
  const bool remainder = e.in().name == "rem";
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type);
  with_integer(e, type, [&]<class T>() {
    e.emit(remainder ? binary<T, T, T>([](T x, T y) {
             if (y == 0) return x;
             if (std::is_signed_v<T> && y == static_cast<T>(-1)) return static_cast<T>(0);
             return static_cast<T>(x % y);
           })
                     : binary<T, T, T>([](T x, T y) {
                         if (y == 0) return static_cast<T>(~T{0});
                         if (std::is_signed_v<T> && y == static_cast<T>(-1)) {
                           return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(x));
                         }
                         return static_cast<T>(x / y);
                       }),
           d, {a, b});
  });
}

void select_integer_minmax(Emitter& e) {
  const Type type = e.type(0);
  const bool is_min = e.in().name == "min";
  const bool relu = e.has("relu");
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type);
  if (type == Type::kU16x2 || type == Type::kS16x2) {
    using U = uint32_t;
    const auto pick = [&](Handler min_u, Handler max_u, Handler min_s, Handler max_s) {
      return type == Type::kU16x2 ? (is_min ? min_u : max_u) : (is_min ? min_s : max_s);
    };
    if (relu) e.unsupported(".relu is not supported");
    using S = int16_t;
    e.emit(pick(binary<U, U, U>([](U x, U y) {
                  return Packed::each(x, y, [](uint16_t p, uint16_t q) { return p < q ? p : q; });
                }),
                binary<U, U, U>([](U x, U y) {
                  return Packed::each(x, y, [](uint16_t p, uint16_t q) { return p < q ? q : p; });
                }),
                binary<U, U, U>([](U x, U y) {
                  return Packed::each(x, y, [](uint16_t p, uint16_t q) {
                    return static_cast<S>(p) < static_cast<S>(q) ? p : q;
                  });
                }),
                binary<U, U, U>([](U x, U y) {
                  return Packed::each(x, y, [](uint16_t p, uint16_t q) {
                    return static_cast<S>(p) < static_cast<S>(q) ? q : p;
                  });
                })),
           d, {a, b});
    return;
  }
  with_integer(e, type, [&]<class T>() {
    if (relu) {
      if (type != Type::kS32) e.invalid(".relu needs .s32");
      e.emit(is_min ? binary<T, T, T>([](T x, T y) {
               const T m = x < y ? x : y;
               return m < 0 ? T{0} : m;
             })
                    : binary<T, T, T>([](T x, T y) {
                        const T m = x < y ? y : x;
                        return m < 0 ? T{0} : m;
                      }),
             d, {a, b});
      return;
    }
    e.emit(is_min ? binary<T, T, T>([](T x, T y) { return x < y ? x : y; })
                  : binary<T, T, T>([](T x, T y) { return x < y ? y : x; }),
           d, {a, b});
  });
}

void select_integer_abs(Emitter& e) {
  const Type type = e.type(0);
  const bool is_abs = e.in().name == "abs";
  const Slot d = e.destination(0, type), a = e.source(1, type);
  with_integer(e, type, [&]<class T>() {
    using U = Unsigned<T>;
    e.emit(is_abs ? unary<T, T>([](T x) {
             const U u = static_cast<U>(x);
             return static_cast<T>(x < 0 ? static_cast<U>(U{0} - u) : u);
           })
                  : unary<T, T>([](T x) { return static_cast<T>(U{0} - static_cast<U>(x)); }),
           d, {a});
  });
}

void select_sad(Emitter& e) {
  const Type type = e.type(0);
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type), c = e.source(3, type);
  with_integer(e, type, [&]<class T>() {
    using U = Unsigned<T>;
    e.emit(ternary<U, T, T, U>([](T x, T y, U z) {
             const U difference = x < y ? static_cast<U>(static_cast<U>(y) - static_cast<U>(x))
                                        : static_cast<U>(static_cast<U>(x) - static_cast<U>(y));
             return static_cast<U>(z + difference);
           }),
           d, {a, b, c});
  });
}

namespace {

template <class A, class B>
Handler dot4() {
  return ternary<uint32_t, uint32_t, uint32_t, uint32_t>([](uint32_t x, uint32_t y, uint32_t z) {
    for (int k = 0; k < 32; k += 8) {
      z += static_cast<uint32_t>(int32_t{static_cast<A>(x >> k)} * int32_t{static_cast<B>(y >> k)});
    }
    return z;
  });
}

template <class A, class B, int kHalf>
Handler dot2() {
  return ternary<uint32_t, uint32_t, uint32_t, uint32_t>([](uint32_t x, uint32_t y, uint32_t z) {
    for (int k = 0; k < 2; ++k) {
      z += static_cast<uint32_t>(int32_t{static_cast<A>(x >> (16 * k))}) *
           static_cast<uint32_t>(int32_t{static_cast<B>(y >> (16 * kHalf + 8 * k))});
    }
    return z;
  });
}

}  // namespace

void select_dot(Emitter& e) {
  const bool four = e.in().name == "dp4a";
  const bool sa = is_signed(e.type(0)), sb = is_signed(e.type(1));
  const bool hi = e.has("hi");
  e.has("lo");
  const Slot d = e.destination(0, Type::kB32), a = e.source(1, Type::kB32), b = e.source(2, Type::kB32),
             c = e.source(3, Type::kB32);
  Handler handler = nullptr;
  if (four) {
    handler = sa ? (sb ? dot4<int8_t, int8_t>() : dot4<int8_t, uint8_t>())
                 : (sb ? dot4<uint8_t, int8_t>() : dot4<uint8_t, uint8_t>());
  } else if (hi) {
    handler = sa ? (sb ? dot2<int16_t, int8_t, 1>() : dot2<int16_t, uint8_t, 1>())
                 : (sb ? dot2<uint16_t, int8_t, 1>() : dot2<uint16_t, uint8_t, 1>());
  } else {
    handler = sa ? (sb ? dot2<int16_t, int8_t, 0>() : dot2<int16_t, uint8_t, 0>())
                 : (sb ? dot2<uint16_t, int8_t, 0>() : dot2<uint16_t, uint8_t, 0>());
  }
  e.emit(handler, d, {a, b, c});
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
