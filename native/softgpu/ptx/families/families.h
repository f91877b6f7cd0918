// The select functions of the families, and what several of them share.
#pragma once

#include "softgpu/ptx/families/lanes.h"

namespace sluice::ptx::SLUICE_PTX_ISA {

// integer.cc
void select_integer_add(Emitter& e);
void select_integer_mul(Emitter& e);
void select_integer_mad(Emitter& e);
void select_mul24(Emitter& e);
void select_integer_div(Emitter& e);
void select_integer_minmax(Emitter& e);
void select_integer_abs(Emitter& e);
void select_sad(Emitter& e);
void select_dot(Emitter& e);

// float.cc: f32 and f64
void select_float_add(Emitter& e);  // add sub mul
void select_float_fma(Emitter& e);
void select_float_div(Emitter& e);
void select_float_minmax(Emitter& e);
void select_float_sign(Emitter& e);  // abs neg
void select_copysign(Emitter& e);
void select_testp(Emitter& e);

// approximate.cc: rcp sqrt rsqrt sin cos ex2 lg2 tanh
void select_root(Emitter& e);
void select_transcendental(Emitter& e);

// half.cc: f16 bf16 f16x2 bf16x2
bool is_half(Type type);
void select_half_add(Emitter& e);
void select_half_fma(Emitter& e);
void select_half_minmax(Emitter& e);
void select_half_sign(Emitter& e);
void select_half_transcendental(Emitter& e);

// bits.cc
void select_logic(Emitter& e);
void select_shift(Emitter& e);
void select_funnel(Emitter& e);
void select_count(Emitter& e);
void select_find(Emitter& e);
void select_extract(Emitter& e);
void select_insert(Emitter& e);
void select_permute(Emitter& e);
void select_lop3(Emitter& e);
void select_bit_mask(Emitter& e);
void select_sign_extend(Emitter& e);
void select_find_nth(Emitter& e);

// convert.cc
void select_cvt(Emitter& e);
void select_pack(Emitter& e);

// compare.cc
void select_setp(Emitter& e);
void select_set(Emitter& e);
void select_selp(Emitter& e);
void select_slct(Emitter& e);

// move.cc
void select_mov(Emitter& e);
void select_cvta(Emitter& e);
void select_isspacep(Emitter& e);
Handler resize_handler(uint32_t from, uint32_t to, bool sign);
Handler special_handler(uint32_t width);
Handler dynamic_shared_handler(uint32_t width);
Handler local_address_handler(uint32_t width);

// load.cc, store.cc, atomic.cc, copy.cc
void select_load(Emitter& e);
void select_store(Emitter& e);
void select_atomic(Emitter& e);
void select_fence(Emitter& e);
void select_copy(Emitter& e);
void select_prefetch(Emitter& e);

// matrix.cc
void select_load_matrix(Emitter& e);
void select_multiply_matrix(Emitter& e);

// control.cc, call.cc, barrier.cc, warp.cc
void select_branch(Emitter& e);
void select_branch_index(Emitter& e);
void select_exit(Emitter& e);
void select_return(Emitter& e);
void select_trap(Emitter& e);
void select_nothing(Emitter& e);
void select_call(Emitter& e);
void select_barrier(Emitter& e);
void select_warp_barrier(Emitter& e);
void select_shuffle(Emitter& e);
void select_vote(Emitter& e);
void select_match(Emitter& e);
void select_active_mask(Emitter& e);
void select_reduce(Emitter& e);
void select_elect(Emitter& e);
Handler guarded_handler();
Handler branch_if_handler();
Handler meet_handler();
Handler exit_handler();
Handler leave_handler();

// The PTX canonical NaNs.
constexpr uint32_t kNan32 = 0x7fffffffu;
constexpr uint16_t kNan16 = 0x7fffu;

}  // namespace sluice::ptx::SLUICE_PTX_ISA
