// What an instruction family uses to turn one PTX instruction into Insts: operands become slots,
// modifiers are taken one by one, and what nobody took refuses the instruction.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "softgpu/ptx/analysis/flow.h"
#include "softgpu/ptx/exec/inst.h"

namespace sluice::ptx {

class Emitter;
using Select = void (*)(Emitter&);

struct FamilyEntry {
  std::string_view name;
  Select select;
};

// The handlers of one instruction-set level of the host CPU (base, v3 with AVX2, v4 with AVX-512).
struct Isa {
  const char* name;
  Select (*find)(std::string_view instruction);
  // Copies a slot of `from` bytes per lane to one of `to` bytes, extending the sign or with zeros.
  Handler (*resize)(uint32_t from, uint32_t to, bool sign);
  Handler guarded;
  Handler branch_if;  // lanes whose guard holds go to Inst::extra
  Handler meet;       // a place where splits meet
  Handler exit;
  Handler leave;  // return from a function
  // Values that are not registers, 4 or 8 bytes wide; imm says which special register (number,
  // component << 8) or the offset within the space.
  Handler (*special)(uint32_t width);
  Handler (*dynamic_shared)(uint32_t width);
  Handler (*local_address)(uint32_t width);
};
const Isa& best_isa();

// Broadcast constants of a program, and which of them are addresses known only when variables are bound.
struct Constants {
  std::vector<char> bytes;
  struct Address {
    uint32_t offset = 0;
    uint32_t variable = 0;
    uint64_t addend = 0;
  };
  std::vector<Address> addresses;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> known;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> known_addresses;

  Slot value(uint64_t value, uint32_t width);
  Slot address(uint32_t variable, uint64_t addend);
};

// Where variables of the shared, local and param spaces lie.
struct Layout {
  std::vector<uint32_t> offset;  // per Module variable; kNone for extern shared memory
};

class Emitter {
 public:
  Emitter(const Module& module, const Function& function, const Layout& layout, const Isa& isa,
          Constants& constants, Code& code, Allocation allocation);

  // The instruction being translated.
  void begin(const Instruction& in);
  void finish();
  const Instruction& in() const { return *in_; }
  const Function& function() const { return function_; }
  const Module& module() const { return module_; }
  const Layout& layout() const { return layout_; }
  const Isa& isa() const { return isa_; }
  Code& code() { return code_; }

  // Modifiers. has() takes the modifier; a type is taken by type().
  bool has(std::string_view modifier);
  bool has_any(std::initializer_list<std::string_view> modifiers);
  // The first modifier that is not taken and not a type; empty when there is none.
  std::string_view rest() const;
  uint32_t type_count() const { return static_cast<uint32_t>(types_.size()); }
  Type type(uint32_t i);
  // Rounding .rn .rz .rm .rp with .ftz, as an Inst's float_mode.
  uint8_t float_mode();

  // Operands.
  uint32_t operand_count() const { return in_->operand_count; }
  const Operand& operand(uint32_t i) const;
  // Slot that holds operand i as a value of `type`. Registers wider than the type are narrowed when
  // `relaxed`, else refused.
  Slot source(uint32_t i, Type type, bool relaxed = false) { return source(operand(i), type, relaxed); }
  Slot source(const Operand& operand, Type type, bool relaxed = false);
  Slot predicate(const Operand& operand);
  Slot predicate(uint32_t i) { return predicate(operand(i)); }
  // Slot for result i; a wider register is filled by extension after the instruction when `relaxed`.
  Slot destination(uint32_t i, Type type, bool relaxed = false) {
    return destination(operand(i), type, relaxed);
  }
  Slot destination(const Operand& operand, Type type, bool relaxed = false);
  Slot predicate_destination(const Operand& operand);
  Slot second_destination();  // after '|': a predicate, kNoSlot when absent
  const Operand& element(const Operand& vector, uint32_t k) const;
  Type register_type(const Operand& operand) const;
  Slot register_slot(uint32_t reg) const { return allocation_.slot[reg]; }
  bool is_kernel_parameter(uint32_t variable) const;
  Slot temporary(uint32_t bytes_per_lane);
  Slot constant(uint64_t value, uint32_t width) { return constants_.value(value, width); }
  Slot address_constant(uint32_t variable, uint64_t addend) { return constants_.address(variable, addend); }
  uint64_t immediate(uint32_t i) const;  // refuses what is not a constant integer
  bool is_immediate(uint32_t i) const { return operand(i).kind == OperandKind::kImmediate; }
  // Bits of an immediate operand as a value of the type.
  static uint64_t immediate_bits(const Operand& operand, Type type);

  // Output. emit() guards the Inst when the instruction is predicated; emit_always() does not.
  Inst& emit(Handler handler);
  Inst& emit_always(Handler handler);
  Inst& emit(Handler handler, Slot dst, std::initializer_list<Slot> sources);
  // Lanes whose guard does not hold jump over what follows until finish(): for instructions that
  // change control themselves and so cannot run guarded.
  void branch_around();
  uint32_t extra(std::initializer_list<uint32_t> values);
  uint32_t extra_size() const { return static_cast<uint32_t>(code_.extra.size()); }
  void add_extra(uint32_t value) { code_.extra.push_back(value); }
  uint8_t cache_entry() { return static_cast<uint8_t>(cache_next_++ % 64); }

  // Branches: the label's PTX position is linked to a relative distance later.
  void link_target(Inst& inst, uint32_t label);
  void link_extra(uint32_t extra_index, uint32_t from, uint32_t label);
  void set_reconverge(Inst& inst);
  void place(uint32_t ptx_index) { positions_[ptx_index] = static_cast<uint32_t>(code_.insts.size()); }
  void link();
  void set_position(uint32_t ptx_index) { position_ = ptx_index; }
  const Flow* flow = nullptr;

  [[noreturn]] void invalid(const std::string& what) const;      // the PTX is wrong
  [[noreturn]] void unsupported(const std::string& what) const;  // the PTX is right, the engine cannot
  std::string spelled() const;                                   // the instruction with its modifiers

 private:
  struct Resize {
    Slot from = 0;
    Slot to = 0;
    uint32_t from_width = 0;
    uint32_t to_width = 0;
    bool sign = false;
  };
  struct Link {
    uint32_t inst = 0;
    uint32_t label = 0;
    bool is_reconverge = false;
    bool in_extra = false;
  };

  const Module& module_;
  const Function& function_;
  const Layout& layout_;
  const Isa& isa_;
  Constants& constants_;
  Code& code_;
  Allocation allocation_;
  const Instruction* in_ = nullptr;
  uint32_t position_ = 0;
  uint64_t taken_ = 0;
  std::vector<Type> types_;
  std::vector<uint32_t> type_modifiers_;
  std::vector<Resize> after_;
  std::map<uint32_t, std::vector<uint32_t>> temporaries_;
  std::map<uint32_t, uint32_t> temporaries_used_;
  std::vector<Link> links_;
  std::vector<uint32_t> positions_;
  uint32_t around_ = kNone;
  uint32_t cache_next_ = 0;
  uint32_t total_extra_limit_ = 0;
};

// Bytes per lane in a slot: 8-bit values live in 16-bit slots.
constexpr uint32_t lane_width(Type type) {
  const uint32_t bytes = type_bytes(type);
  return bytes == 1 ? 2 : bytes;
}

}  // namespace sluice::ptx
