// cp.async: copies from global to shared memory. Done at once, so that groups of them are complete
// before anyone can wait for them.
#include "softgpu/ptx/families/access.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

// src: shared address, global address, bytes to read (kNoSlot: all), predicate that copies nothing
// (kNoSlot: none); extra: flags of the two addresses and the size, distance of the shared address.
// Bytes that are not read are zero.
const Inst* copy_async(Warp& warp, const Inst* in) {
  const uint32_t* const more = &warp.frame->code->extra[in->extra];
  const uint32_t bytes = more[1];
  const bool wide = (more[0] & kAddressNarrow) == 0;
  const uint64_t distance = more[2] | uint64_t{more[3]} << 32;
  Addresses from;
  compute_addresses(warp, in, in->src[1], from);
  const uint32_t ignored = in->src[3] == kNoSlot ? 0 : warp.predicate(in->src[3]);
  for (uint32_t bits = warp.exec; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(bits));
    uint64_t to = distance;
    if (in->src[0] != kNoSlot) {
      to += wide ? warp.src<uint64_t>(in->src[0])[i] : uint64_t{warp.src<uint32_t>(in->src[0])[i]};
    }
    uint32_t read = in->src[2] == kNoSlot ? bytes : warp.src<uint32_t>(in->src[2])[i];
    if ((ignored >> i & 1) != 0) read = 0;
    if (read > bytes) read = bytes;
    unsigned char data[16] = {};
    if (read != 0) {
      if (from.at[i] % bytes != 0) {
        return memory_fault(warp, in, CUDA_ERROR_MISALIGNED_ADDRESS, from.at[i], bytes, "global", false);
      }
      if (!find_range(*warp.thread, from.at[i], read, in->cache)) {
        return memory_fault(warp, in, CUDA_ERROR_ILLEGAL_ADDRESS, from.at[i], read, "global", false);
      }
      std::memcpy(data, reinterpret_cast<const void*>(from.at[i]), read);
    }
    if (!store_lane(warp, in, MemorySpace::kShared, i, to, data, bytes)) return nullptr;
  }
  return in + 1;
}

}  // namespace

void select_copy(Emitter& e) {
  e.has("async");
  if (e.has_any({"commit_group", "wait_group", "wait_all"})) return;
  e.has_any(
      {"ca", "cg", "shared", "shared::cta", "global", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"});
  const std::string_view other = e.rest();
  if (!other.empty()) e.unsupported("the form with ." + std::string(other) + " is not supported");
  const Address to = address_of(e, e.operand(0), MemorySpace::kShared);
  const Address from = address_of(e, e.operand(1), MemorySpace::kGlobal);
  const uint64_t bytes = e.immediate(2);
  if (bytes != 4 && bytes != 8 && bytes != 16) e.invalid("the size is 4, 8 or 16");
  Slot size = kNoSlot, ignore = kNoSlot;
  if (e.operand_count() > 3) {
    const Operand& more = e.operand(3);
    const bool is_predicate = more.kind == OperandKind::kRegister && e.register_type(more) == Type::kPred;
    (is_predicate ? ignore : size) = is_predicate ? e.predicate(more) : e.source(more, Type::kU32);
  }
  const uint32_t extra =
      e.extra({address_flags(to), static_cast<uint32_t>(bytes), static_cast<uint32_t>(to.distance),
               static_cast<uint32_t>(to.distance >> 32)});
  Inst& inst = e.emit(copy_async, kNoSlot, {to.base, from.base, size, ignore});
  inst.imm = from.distance;
  inst.flags = address_flags(from);
  inst.cache = e.cache_entry();
  inst.extra = extra;
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
