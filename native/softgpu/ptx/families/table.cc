// Instruction name → select function; and the Isa that the translator sees. Arithmetic names are shared
// by integer, floating-point and half types: the first type decides.
#include <unordered_map>

#include "softgpu/ptx/families/families.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

template <Select kInteger, Select kFloat, Select kHalf>
void by_type(Emitter& e) {
  const Type type = e.type(0);
  if (is_half(type)) {
    if (kHalf == nullptr) e.unsupported("the type is not supported");
    return kHalf(e);
  }
  if (type == Type::kF32 || type == Type::kF64) {
    if (kFloat == nullptr) e.unsupported("the type is not supported");
    return kFloat(e);
  }
  if (kInteger == nullptr) e.unsupported("the type is not supported");
  return kInteger(e);
}

Select find(std::string_view name) {
  static const std::unordered_map<std::string_view, Select>* const table =
      new std::unordered_map<std::string_view, Select>{
          // integer.cc, float.cc, half.cc
          {"add", by_type<select_integer_add, select_float_add, select_half_add>},
          {"sub", by_type<select_integer_add, select_float_add, select_half_add>},
          {"mul", by_type<select_integer_mul, select_float_add, select_half_add>},
          {"mad", by_type<select_integer_mad, select_float_fma, select_half_fma>},
          {"fma", by_type<nullptr, select_float_fma, select_half_fma>},
          {"div", by_type<select_integer_div, select_float_div, nullptr>},
          {"rem", select_integer_div},
          {"min", by_type<select_integer_minmax, select_float_minmax, select_half_minmax>},
          {"max", by_type<select_integer_minmax, select_float_minmax, select_half_minmax>},
          {"abs", by_type<select_integer_abs, select_float_sign, select_half_sign>},
          {"neg", by_type<select_integer_abs, select_float_sign, select_half_sign>},
          {"addc", select_integer_add},
          {"subc", select_integer_add},
          {"madc", select_integer_mad},
          {"mul24", select_mul24},
          {"mad24", select_mul24},
          {"sad", select_sad},
          {"dp4a", select_dot},
          {"dp2a", select_dot},
          {"copysign", select_copysign},
          {"testp", select_testp},
          // approximate.cc
          {"rcp", select_root},
          {"sqrt", select_root},
          {"rsqrt", select_root},
          {"sin", select_transcendental},
          {"cos", select_transcendental},
          {"lg2", select_transcendental},
          {"ex2", by_type<nullptr, select_transcendental, select_half_transcendental>},
          {"tanh", by_type<nullptr, select_transcendental, select_half_transcendental>},
          // bits.cc
          {"and", select_logic},
          {"or", select_logic},
          {"xor", select_logic},
          {"not", select_logic},
          {"cnot", select_logic},
          {"shl", select_shift},
          {"shr", select_shift},
          {"shf", select_funnel},
          {"popc", select_count},
          {"clz", select_count},
          {"brev", select_count},
          {"bfind", select_find},
          {"bfe", select_extract},
          {"bfi", select_insert},
          {"prmt", select_permute},
          {"lop3", select_lop3},
          {"bmsk", select_bit_mask},
          {"szext", select_sign_extend},
          {"fns", select_find_nth},
          // convert.cc, compare.cc, move.cc
          {"cvt", select_cvt},
          {"setp", select_setp},
          {"set", select_set},
          {"selp", select_selp},
          {"slct", select_slct},
          {"mov", select_mov},
          {"cvta", select_cvta},
          {"isspacep", select_isspacep},
          // load.cc, store.cc, atomic.cc, copy.cc
          {"ld", select_load},
          {"ldu", select_load},
          {"st", select_store},
          {"atom", select_atomic},
          {"red", select_atomic},
          {"membar", select_fence},
          {"fence", select_fence},
          {"cp", select_copy},
          {"prefetch", select_prefetch},
          {"prefetchu", select_prefetch},
          {"discard", select_prefetch},
          {"applypriority", select_prefetch},
          // matrix.cc
          {"ldmatrix", select_load_matrix},
          {"mma", select_multiply_matrix},
          // control.cc, call.cc, barrier.cc, warp.cc
          {"bra", select_branch},
          {"brx", select_branch_index},
          {"exit", select_exit},
          {"ret", select_return},
          {"trap", select_trap},
          {"brkpt", select_trap},
          {"nanosleep", select_nothing},
          {"pmevent", select_nothing},
          {"griddepcontrol", select_nothing},
          {"call", select_call},
          {"bar", select_barrier},
          {"barrier", select_barrier},
          {"shfl", select_shuffle},
          {"vote", select_vote},
          {"match", select_match},
          {"activemask", select_active_mask},
          {"redux", select_reduce},
          {"elect", select_elect},
      };
  const auto at = table->find(name);
  return at == table->end() ? nullptr : at->second;
}

}  // namespace

#define SLUICE_PTX_TEXT(x) #x
#define SLUICE_PTX_NAME(x) SLUICE_PTX_TEXT(x)

const Isa& isa() {
  static const Isa instance{SLUICE_PTX_NAME(SLUICE_PTX_ISA),
                            find,
                            resize_handler,
                            guarded_handler(),
                            branch_if_handler(),
                            meet_handler(),
                            exit_handler(),
                            leave_handler(),
                            special_handler,
                            dynamic_shared_handler,
                            local_address_handler};
  return instance;
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
