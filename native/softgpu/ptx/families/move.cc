// Moves: mov (registers, addresses, special registers, packing), cvta, isspacep, and the copies
// between slots of different widths that other families ask for.
#include <time.h>
#include <x86intrin.h>

#include "softgpu/ptx/families/families.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

template <class To, class From>
Handler resize() {
  return unary<To, From>([](From v) { return static_cast<To>(v); });
}

uint64_t nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

uint32_t part(const Dim3& d, uint32_t component) {
  return component == 0 ? d.x : component == 1 ? d.y : component == 2 ? d.z : 0;
}

// A special register that is the same for every lane of the warp.
uint64_t uniform(const Warp& warp, Special which, uint32_t component) {
  const Block& block = *warp.block;
  const Launch& launch = *block.launch;
  const Dim3& cluster = launch.cluster;
  switch (which) {
    case Special::kNtid:
      return component == 3 ? 1 : part(launch.block, component);
    case Special::kCtaid:
      return part(block.index, component);
    case Special::kNctaid:
      return component == 3 ? 1 : part(launch.grid, component);
    case Special::kWarpid:
      return warp.index;
    case Special::kNwarpid:
      return launch.warps;
    case Special::kSmid:
      return warp.thread->sm;
    case Special::kNsmid:
      return launch.environment->sm_count;
    case Special::kGridid:
      return launch.grid_id;
    case Special::kClusterid:
      return component == 3 ? 0 : part(block.index, component) / part(cluster, component);
    case Special::kNclusterid:
      return component == 3 ? 1 : part(launch.grid, component) / part(cluster, component);
    case Special::kClusterCtaid:
      return component == 3 ? 0 : part(block.index, component) % part(cluster, component);
    case Special::kClusterNctaid:
      return component == 3 ? 1 : part(cluster, component);
    case Special::kClusterCtarank:
      return block.index.x % cluster.x +
             cluster.x * (block.index.y % cluster.y + uint64_t{cluster.y} * (block.index.z % cluster.z));
    case Special::kClusterNctarank:
      return uint64_t{cluster.x} * cluster.y * cluster.z;
    case Special::kIsExplicitCluster:
      return cluster.x * cluster.y * cluster.z > 1;
    case Special::kClock:
      return static_cast<uint32_t>(__rdtsc());
    case Special::kClockHi:
      return __rdtsc() >> 32;
    case Special::kClock64:
      return __rdtsc();
    case Special::kGlobaltimer:
      return nanoseconds();
    case Special::kGlobaltimerLo:
      return static_cast<uint32_t>(nanoseconds());
    case Special::kGlobaltimerHi:
      return nanoseconds() >> 32;
    case Special::kDynamicSmemSize:
      return launch.dynamic_shared;
    case Special::kTotalSmemSize:
    case Special::kAggrSmemSize:
      return launch.shared_bytes;
    case Special::kEnvreg: {
      // 1 and 2: upper and lower half of the address of the workspace that a grid-wide barrier counts in.
      if (!launch.cooperative) return 0;
      const auto address = reinterpret_cast<uint64_t>(&launch.grid_workspace);
      return component == 1 ? address >> 32 : component == 2 ? address & 0xffffffffu : 0;
    }
    case Special::kWarpSize:
      return kLanes;
    default:
      return 0;
  }
}

template <class D>
const Inst* special(Warp& warp, const Inst* in) {
  const auto which = static_cast<Special>(in->imm & 0xff);
  const auto component = static_cast<uint32_t>(in->imm >> 8);
  switch (which) {
    case Special::kTid: {
      const Dim3& dim = warp.block->launch->block;
      const uint32_t base = warp.index * kLanes;
      if (component == 0 && dim.y == 1 && dim.z == 1) {
        return each<D>(warp, in, [=](uint32_t i) { return static_cast<D>(base + i); });
      }
      const uint32_t x = dim.x, y = dim.y;
      switch (component) {
        case 0:
          return each<D>(warp, in, [=](uint32_t i) { return static_cast<D>((base + i) % x); });
        case 1:
          return each<D>(warp, in, [=](uint32_t i) { return static_cast<D>((base + i) / x % y); });
        case 2:
          return each<D>(warp, in, [=](uint32_t i) { return static_cast<D>((base + i) / x / y); });
        default:
          return each<D>(warp, in, [=](uint32_t) { return D{0}; });
      }
    }
    case Special::kLaneid:
      return each<D>(warp, in, [=](uint32_t i) { return static_cast<D>(i); });
    case Special::kLanemaskEq:
      return each<D>(warp, in, [=](uint32_t i) { return static_cast<D>(1u << i); });
    case Special::kLanemaskLe:
      return each<D>(warp, in, [=](uint32_t i) { return static_cast<D>((2u << i) - 1); });
    case Special::kLanemaskLt:
      return each<D>(warp, in, [=](uint32_t i) { return static_cast<D>((1u << i) - 1); });
    case Special::kLanemaskGe:
      return each<D>(warp, in, [=](uint32_t i) { return static_cast<D>(~((1u << i) - 1)); });
    case Special::kLanemaskGt:
      return each<D>(warp, in, [=](uint32_t i) { return static_cast<D>(~((2u << i) - 1)); });
    default: {
      const D value = static_cast<D>(uniform(warp, which, component));
      return each<D>(warp, in, [=](uint32_t) { return value; });
    }
  }
}

template <class D>
const Inst* dynamic_shared(Warp& warp, const Inst* in) {
  const D value = static_cast<D>(warp.block->launch->dynamic_offset + in->imm);
  return each<D>(warp, in, [=](uint32_t) { return value; });
}

template <class D>
const Inst* local_address(Warp& warp, const Inst* in) {
  const D value = static_cast<D>(warp.frame->local_base + in->imm);
  return each<D>(warp, in, [=](uint32_t) { return value; });
}

template <class T>
Handler copy() {
  return unary<T, T>([](T v) { return v; });
}

const Inst* copy_128(Warp& warp, const Inst* in) {
  const __uint128_t* const a = warp.src<__uint128_t>(in->src[0]);
  return each<__uint128_t>(warp, in, [=](uint32_t i) { return a[i]; });
}

const Inst* copy_predicate(Warp& warp, const Inst* in) {
  warp.set_predicate(in->dst, warp.predicate(in->src[0]));
  return in + 1;
}

// Packs `count` parts of P into a W, part 0 lowest; the parts' slots are in extra.
template <class W, class P>
const Inst* pack(Warp& warp, const Inst* in) {
  const uint32_t* const slots = &warp.frame->code->extra[in->extra];
  constexpr uint32_t kCount = sizeof(W) / sizeof(P);
  const P* parts[kCount];
  for (uint32_t k = 0; k < kCount; ++k) parts[k] = warp.src<P>(slots[k]);
  return each<W>(warp, in, [&](uint32_t i) {
    W value = 0;
    for (uint32_t k = 0; k < kCount; ++k)
      value = static_cast<W>(value | static_cast<W>(parts[k][i]) << (8 * sizeof(P) * k));
    return value;
  });
}

template <class P, class W>
const Inst* unpack(Warp& warp, const Inst* in) {
  const W* const a = warp.src<W>(in->src[0]);
  const auto shift = static_cast<uint32_t>(in->imm);
  return each<P>(warp, in, [=](uint32_t i) { return static_cast<P>(a[i] >> shift); });
}

template <class F>
void with_packing(Emitter& e, uint32_t whole, uint32_t parts, F f) {
  if (whole == 4 && parts == 2) return f.template operator()<uint32_t, uint16_t>();
  if (whole == 8 && parts == 2) return f.template operator()<uint64_t, uint32_t>();
  if (whole == 8 && parts == 4) return f.template operator()<uint64_t, uint16_t>();
  if (whole == 16 && parts == 2) return f.template operator()<__uint128_t, uint64_t>();
  if (whole == 16 && parts == 4) return f.template operator()<__uint128_t, uint32_t>();
  e.unsupported("this packing is not supported");
}

// mov.b32 d, {a, b, c, d} with bytes: 8-bit values live in 16-bit slots.
const Inst* pack_bytes(Warp& warp, const Inst* in) {
  const uint32_t* const slots = &warp.frame->code->extra[in->extra];
  const uint16_t* parts[4];
  for (uint32_t k = 0; k < 4; ++k) parts[k] = warp.src<uint16_t>(slots[k]);
  return each<uint32_t>(warp, in, [&](uint32_t i) {
    uint32_t value = 0;
    for (uint32_t k = 0; k < 4; ++k) value |= static_cast<uint32_t>(parts[k][i] & 0xff) << (8 * k);
    return value;
  });
}

const Inst* pack_two_bytes(Warp& warp, const Inst* in) {
  const uint32_t* const slots = &warp.frame->code->extra[in->extra];
  const uint16_t* const low = warp.src<uint16_t>(slots[0]);
  const uint16_t* const high = warp.src<uint16_t>(slots[1]);
  return each<uint16_t>(warp, in,
                        [=](uint32_t i) { return static_cast<uint16_t>((low[i] & 0xff) | high[i] << 8); });
}

template <class W>
const Inst* unpack_byte(Warp& warp, const Inst* in) {
  const W* const a = warp.src<W>(in->src[0]);
  const auto shift = static_cast<uint32_t>(in->imm);
  return each<uint16_t>(warp, in, [=](uint32_t i) { return static_cast<uint16_t>(a[i] >> shift & 0xff); });
}

void move_value(Emitter& e, Type type, Slot d, Slot a) {
  if (lane_width(type) == 16) {
    e.emit(copy_128, d, {a});
    return;
  }
  with_bits(e, type, [&]<class T>() { e.emit(copy<T>(), d, {a}); });
}

void select_pack_move(Emitter& e, Type type) {
  const Operand& vector = e.operand(1);
  const uint32_t bytes = type_bytes(type);
  const Slot d = e.destination(0, type);
  std::vector<Slot> slots;
  const Type part = bytes / vector.count == 1   ? Type::kB8
                    : bytes / vector.count == 2 ? Type::kB16
                    : bytes / vector.count == 4 ? Type::kB32
                                                : Type::kB64;
  for (uint32_t k = 0; k < vector.count; ++k) slots.push_back(e.source(e.element(vector, k), part));
  const uint32_t extra = e.extra_size();
  for (const Slot slot : slots) e.add_extra(slot);
  if (part == Type::kB8) {
    if (bytes == 4 && vector.count == 4) {
      e.emit(pack_bytes, d, {}).extra = extra;
    } else if (bytes == 2 && vector.count == 2) {
      e.emit(pack_two_bytes, d, {}).extra = extra;
    } else {
      e.unsupported("this packing is not supported");
    }
    return;
  }
  with_packing(e, bytes, vector.count, [&]<class W, class P>() { e.emit(pack<W, P>, d, {}).extra = extra; });
}

void select_unpack_move(Emitter& e, Type type) {
  const Operand& vector = e.operand(0);
  const uint32_t bytes = type_bytes(type);
  if (vector.count == 0 || bytes % vector.count != 0) e.invalid("the parts do not fill the type");
  Slot a = e.source(1, type);
  const uint32_t part_bytes = bytes / vector.count;
  const Type part = part_bytes == 1   ? Type::kB8
                    : part_bytes == 2 ? Type::kB16
                    : part_bytes == 4 ? Type::kB32
                                      : Type::kB64;
  // A destination may be the source itself: then the source is copied first.
  for (uint32_t k = 0; k < vector.count; ++k) {
    const Operand& element = e.element(vector, k);
    if (element.kind == OperandKind::kRegister && e.register_slot(element.index) == a) {
      const Slot safe = e.temporary(lane_width(type));
      move_value(e, type, safe, a);
      a = safe;
      break;
    }
  }
  for (uint32_t k = 0; k < vector.count; ++k) {
    const Operand& element = e.element(vector, k);
    if (element.kind == OperandKind::kSink) continue;
    const Slot d = e.destination(element, part);
    if (part == Type::kB8) {
      e.emit(bytes == 4 ? unpack_byte<uint32_t> : unpack_byte<uint16_t>, d, {a}).imm = 8 * k;
      if (bytes != 4 && bytes != 2) e.unsupported("this unpacking is not supported");
      continue;
    }
    with_packing(e, bytes, vector.count,
                 [&]<class W, class P>() { e.emit(unpack<P, W>, d, {a}).imm = 8 * part_bytes * k; });
  }
}

}  // namespace

Handler resize_handler(uint32_t from, uint32_t to, bool sign) {
  if (from == 2 && to == 4) return sign ? resize<int32_t, int16_t>() : resize<uint32_t, uint16_t>();
  if (from == 2 && to == 8) return sign ? resize<int64_t, int16_t>() : resize<uint64_t, uint16_t>();
  if (from == 4 && to == 8) return sign ? resize<int64_t, int32_t>() : resize<uint64_t, uint32_t>();
  if (from == 4 && to == 2) return resize<uint16_t, uint32_t>();
  if (from == 8 && to == 2) return resize<uint16_t, uint64_t>();
  if (from == 8 && to == 4) return resize<uint32_t, uint64_t>();
  if (from == 16 && to == 8) return unpack<uint64_t, __uint128_t>;
  if (from == 16 && to == 4) return unpack<uint32_t, __uint128_t>;
  if (from == 16 && to == 2) return unpack<uint16_t, __uint128_t>;
  return [](Warp& warp, const Inst* in) -> const Inst* {  // anything to 128 bits goes through 64
    return fault(warp, in, CUDA_ERROR_ILLEGAL_INSTRUCTION, "a value is widened to 128 bits");
  };
}
Handler special_handler(uint32_t width) { return width == 4 ? special<uint32_t> : special<uint64_t>; }
Handler dynamic_shared_handler(uint32_t width) {
  return width == 4 ? dynamic_shared<uint32_t> : dynamic_shared<uint64_t>;
}
Handler local_address_handler(uint32_t width) {
  return width == 4 ? local_address<uint32_t> : local_address<uint64_t>;
}

void select_mov(Emitter& e) {
  const Type type = e.type(0);
  if (type == Type::kPred) {
    e.emit(copy_predicate, e.predicate_destination(e.operand(0)), {e.predicate(1)});
    return;
  }
  if (e.operand(0).kind == OperandKind::kVector && e.operand(1).kind == OperandKind::kVector) {
    e.unsupported("moves between vectors are not supported");
  }
  if (e.operand(1).kind == OperandKind::kVector) return select_pack_move(e, type);
  if (e.operand(0).kind == OperandKind::kVector) return select_unpack_move(e, type);
  const Operand& from = e.operand(1);
  if (from.kind == OperandKind::kSpecial && (lane_width(type) == 4 || lane_width(type) == 8)) {
    e.emit(special_handler(lane_width(type)), e.destination(0, type), {}).imm =
        from.index | uint64_t{from.component} << 8;
    return;
  }
  if (from.kind == OperandKind::kSpecial && lane_width(type) == 2) {  // old code: mov.u16 %rh, %tid.x
    const Slot wide = e.temporary(4);
    Inst& inst = e.emit_always(special_handler(4));
    inst.dst = wide;
    inst.imm = from.index | uint64_t{from.component} << 8;
    e.emit(resize_handler(4, 2, false), e.destination(0, type), {wide});
    return;
  }
  const Slot d = e.destination(0, type), a = e.source(1, type);
  move_value(e, type, d, a);
}

// cvta.space: to a generic address; cvta.to.space: back. Device memory is generic as it is.
void select_cvta(Emitter& e) {
  const bool to = e.has("to");
  uint64_t window = 0;
  if (e.has_any({"shared", "shared::cta", "shared::cluster"})) window = kSharedWindow;
  if (e.has("local")) window = kLocalWindow;
  if (e.has_any({"param", "param::entry", "param::func"})) {
    window = e.function().is_entry ? kParamWindow : kLocalWindow;
  }
  e.has_any({"global", "const"});
  const Type type = e.type(0);
  const Slot d = e.destination(0, type), a = e.source(1, type);
  if (lane_width(type) == 4) e.unsupported("32-bit generic addresses are not supported");
  if (window == 0) return move_value(e, type, d, a);
  const Slot base = e.constant(window, 8);
  e.emit(to ? binary<uint64_t, uint64_t, uint64_t>([](uint64_t x, uint64_t w) { return x - w; })
            : binary<uint64_t, uint64_t, uint64_t>([](uint64_t x, uint64_t w) { return x + w; }),
         d, {a, base});
}

namespace {

const Inst* in_window(Warp& warp, const Inst* in) {
  const uint64_t* const a = warp.src<uint64_t>(in->src[0]);
  const uint64_t window = in->imm;
  warp.set_predicate(in->dst, lane_bits([=](uint32_t i) { return a[i] - window < kWindowBytes; }));
  return in + 1;
}

// Device memory lies above all windows.
const Inst* in_device(Warp& warp, const Inst* in) {
  const uint64_t* const a = warp.src<uint64_t>(in->src[0]);
  warp.set_predicate(in->dst, lane_bits([=](uint32_t i) { return a[i] >= kFunctionWindow + kWindowBytes; }));
  return in + 1;
}

}  // namespace

void select_isspacep(Emitter& e) {
  const Slot p = e.predicate_destination(e.operand(0)), a = e.source(1, Type::kB64);
  if (e.has_any({"shared", "shared::cta", "shared::cluster"})) {
    e.emit(in_window, p, {a}).imm = kSharedWindow;
  } else if (e.has("local")) {
    e.emit(in_window, p, {a}).imm = kLocalWindow;
  } else if (e.has_any({"param", "param::entry", "param::func"})) {
    e.emit(in_window, p, {a}).imm = kParamWindow;
  } else if (e.has("global")) {
    e.emit(in_device, p, {a});
  } else if (e.has("const")) {
    // Constants live in device memory here, and a program asks this only to choose a faster load.
    e.emit(
        [](Warp& warp, const Inst* in) -> const Inst* {
          warp.set_predicate(in->dst, 0);
          return in + 1;
        },
        p, {a});
  } else {
    e.invalid("expected a state space");
  }
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
