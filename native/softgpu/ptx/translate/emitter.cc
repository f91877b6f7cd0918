#include "softgpu/ptx/translate/emitter.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "softgpu/ptx/exec/launch.h"

namespace sluice::ptx {

Slot Constants::value(uint64_t value, uint32_t width) {
  const auto [at, fresh] = known.emplace(std::make_pair(value, width), 0);
  if (fresh) {
    at->second = static_cast<uint32_t>(bytes.size());
    if (bytes.size() + kLanes * 16 > kSlotLimit)
      throw PtxError{CUDA_ERROR_NOT_SUPPORTED, 0, "too many constants"};
    bytes.resize(bytes.size() + std::max<size_t>(size_t{width} * kLanes, 64));
    for (uint32_t lane = 0; lane < (width == 0 ? 0 : kLanes); ++lane) {
      std::memcpy(&bytes[at->second + size_t{lane} * width], &value, std::min(width, 8u));
    }
    if (width == 0) std::memcpy(&bytes[at->second], &value, 4);  // a predicate: one bit per lane
  }
  return at->second | kConstant;
}

Slot Constants::address(uint32_t variable, uint64_t addend) {
  const auto [at, fresh] = known_addresses.emplace(std::make_pair(addend, variable), 0);
  if (fresh) {
    at->second = static_cast<uint32_t>(bytes.size());
    if (bytes.size() + kLanes * 16 > kSlotLimit)
      throw PtxError{CUDA_ERROR_NOT_SUPPORTED, 0, "too many constants"};
    bytes.resize(bytes.size() + size_t{8} * kLanes);
    addresses.push_back({at->second, variable, addend});
  }
  return at->second | kConstant;
}

Emitter::Emitter(const Module& module, const Function& function, const Layout& layout, const Isa& isa,
                 Constants& constants, Code& code, Allocation allocation)
    : module_(module),
      function_(function),
      layout_(layout),
      isa_(isa),
      constants_(constants),
      code_(code),
      allocation_(std::move(allocation)) {
  code_.frame_bytes = allocation_.frame_bytes;
  positions_.assign(function.code.size() + 1, 0);
}

std::string Emitter::spelled() const {
  std::string text(in_->name);
  for (uint32_t i = 0; i < in_->modifier_count; ++i) {
    text += '.';
    text += function_.modifier(*in_, i);
  }
  return text;
}

void Emitter::invalid(const std::string& what) const {
  throw PtxError{CUDA_ERROR_INVALID_PTX, in_->line, spelled() + ": " + what};
}
void Emitter::unsupported(const std::string& what) const {
  throw PtxError{CUDA_ERROR_NOT_SUPPORTED, in_->line, spelled() + ": " + what};
}

void Emitter::begin(const Instruction& in) {
  in_ = &in;
  taken_ = 0;
  types_.clear();
  type_modifiers_.clear();
  after_.clear();
  temporaries_used_.clear();
  around_ = kNone;
  for (uint32_t i = 0; i < in.modifier_count; ++i) {
    const Type type = type_from_name(function_.modifier(in, i));
    if (type == Type::kNone) continue;
    types_.push_back(type);
    type_modifiers_.push_back(i);
  }
}

void Emitter::finish() {
  for (const Resize& resize : after_) {
    Inst& inst = emit(isa_.resize(resize.from_width, resize.to_width, resize.sign));
    inst.src[0] = resize.from;
    inst.dst = resize.to;
  }
  if (around_ != kNone) {
    const auto here = static_cast<uint32_t>(code_.insts.size());
    code_.insts[around_].extra = here - around_;
    code_.insts[around_].reconverge = static_cast<int32_t>(here - around_);
    emit_always(isa_.meet);
  }
  const std::string_view left = rest();
  if (!left.empty()) unsupported("the modifier ." + std::string(left) + " is not supported here");
}

bool Emitter::has(std::string_view modifier) {
  bool found = false;
  for (uint32_t i = 0; i < in_->modifier_count; ++i) {
    if (function_.modifier(*in_, i) != modifier) continue;
    taken_ |= uint64_t{1} << i;
    found = true;
  }
  return found;
}

bool Emitter::has_any(std::initializer_list<std::string_view> modifiers) {
  bool found = false;
  for (const std::string_view modifier : modifiers) found |= has(modifier);
  return found;
}

std::string_view Emitter::rest() const {
  for (uint32_t i = 0; i < in_->modifier_count; ++i) {
    if ((taken_ >> i & 1) == 0) return function_.modifier(*in_, i);
  }
  return {};
}

Type Emitter::type(uint32_t i) {
  if (i >= types_.size()) invalid("a type is missing");
  taken_ |= uint64_t{1} << type_modifiers_[i];
  return types_[i];
}

uint8_t Emitter::float_mode() {
  uint8_t mode = kNearest;
  if (has("rn")) mode = kNearest;
  if (has("rz")) mode = kTowardZero;
  if (has("rm")) mode = kDown;
  if (has("rp")) mode = kUp;
  if (has("ftz")) mode |= kFlush;
  return mode;
}

const Operand& Emitter::operand(uint32_t i) const {
  if (i >= in_->operand_count) invalid("an operand is missing");
  return function_.operand(*in_, i);
}

Type Emitter::register_type(const Operand& operand) const {
  if (operand.kind != OperandKind::kRegister) invalid("expected a register");
  return function_.registers[operand.index].type;
}

uint64_t Emitter::immediate_bits(const Operand& operand, Type type) {
  const uint64_t raw = operand.value;
  switch (operand.literal) {
    case Literal::kInteger:
      if (type == Type::kF32) return std::bit_cast<uint32_t>(static_cast<float>(static_cast<int64_t>(raw)));
      if (type == Type::kF64) return std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(raw)));
      return type_bytes(type) == 8 || type_bytes(type) == 16
                 ? raw
                 : raw & ((uint64_t{1} << (8 * lane_width(type))) - 1);
    case Literal::kFloat32:
      if (type == Type::kF64) {
        return std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(raw))));
      }
      return raw;
    case Literal::kFloat64:
      if (type_bytes(type) == 4) {
        return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(raw)));
      }
      return raw;
  }
  return raw;
}

uint64_t Emitter::immediate(uint32_t i) const {
  const Operand& at = operand(i);
  if (at.kind != OperandKind::kImmediate || at.literal != Literal::kInteger)
    invalid("expected a constant integer");
  return at.value;
}

const Operand& Emitter::element(const Operand& vector, uint32_t k) const {
  if (vector.kind != OperandKind::kVector || k >= vector.count) invalid("expected a vector");
  return function_.lists[vector.index + k];
}

Slot Emitter::temporary(uint32_t bytes_per_lane) {
  const uint32_t bytes = bytes_per_lane == 0 ? 64 : bytes_per_lane * kLanes;
  auto& slots = temporaries_[bytes];
  uint32_t& used = temporaries_used_[bytes];
  if (used == slots.size()) {
    if (code_.frame_bytes + bytes > kSlotLimit) unsupported("too many registers");
    slots.push_back(code_.frame_bytes);
    code_.frame_bytes += bytes;
  }
  return slots[used++];
}

Slot Emitter::source(const Operand& operand, Type type, bool relaxed) {
  const uint32_t width = lane_width(type);
  switch (operand.kind) {
    case OperandKind::kImmediate:
      if (width == 16) unsupported("a 128-bit constant is not supported");
      return constants_.value(immediate_bits(operand, type), width);
    case OperandKind::kRegister: {
      const Type declared = function_.registers[operand.index].type;
      if (declared == Type::kPred) invalid("a predicate stands where a value is expected");
      const uint32_t have = lane_width(declared);
      const Slot slot = allocation_.slot[operand.index];
      if (have == width) return slot;
      if (have < width || !relaxed) {
        invalid("register " + std::string(function_.registers[operand.index].name) + " has the wrong size");
      }
      const Slot narrow = temporary(width);
      Inst& inst = emit_always(isa_.resize(have, width, false));
      inst.src[0] = slot;
      inst.dst = narrow;
      return narrow;
    }
    case OperandKind::kVariable: {
      const VariableDecl& variable = module_.variables[operand.index];
      if (variable.space == StateSpace::kGlobal || variable.space == StateSpace::kConst) {
        if (width == 8) return constants_.address(operand.index, operand.value);
        unsupported("the address of a variable does not fit the type");
      }
      if (width != 4 && width != 8) break;
      const uint32_t offset = layout_.offset[operand.index];
      if (variable.space == StateSpace::kShared && offset != kNone)
        return constants_.value(offset + operand.value, width);
      if (variable.space == StateSpace::kParam && function_.is_entry && is_kernel_parameter(operand.index)) {
        return constants_.value(offset + operand.value, width);
      }
      const bool shared = variable.space == StateSpace::kShared;
      const Slot slot = temporary(width);
      Inst& inst = emit_always(shared ? isa_.dynamic_shared(width) : isa_.local_address(width));
      inst.dst = slot;
      inst.imm = shared ? operand.value : offset + operand.value;
      return slot;
    }
    case OperandKind::kFunction:
      if (width == 8) return constants_.value(kFunctionWindow + 16 * uint64_t{operand.index + 1}, 8);
      break;
    case OperandKind::kSpecial: {
      if (width != 4 && width != 8) break;
      const Slot slot = temporary(width);
      Inst& inst = emit_always(isa_.special(width));
      inst.dst = slot;
      inst.imm = operand.index | uint64_t{operand.component} << 8;
      return slot;
    }
    default:
      break;
  }
  invalid("this operand is not supported here");
}

bool Emitter::is_kernel_parameter(uint32_t variable) const {
  if (!function_.is_entry) return false;
  return std::find(function_.parameters.begin(), function_.parameters.end(), variable) !=
         function_.parameters.end();
}

Inst& Emitter::emit(Handler handler, Slot dst, std::initializer_list<Slot> sources) {
  Inst& inst = emit(handler);
  inst.dst = dst;
  std::copy(sources.begin(), sources.end(), inst.src);
  return inst;
}

Slot Emitter::predicate(const Operand& operand) {
  if (operand.kind == OperandKind::kImmediate)
    return constants_.value(operand.value != 0 ? 0xffffffffu : 0, 0);
  if (operand.kind != OperandKind::kRegister || function_.registers[operand.index].type != Type::kPred) {
    invalid("expected a predicate");
  }
  return allocation_.slot[operand.index] | (operand.negated ? kInverted : 0);
}

Slot Emitter::destination(const Operand& operand, Type type, bool relaxed) {
  const uint32_t width = lane_width(type);
  if (operand.kind == OperandKind::kSink) return temporary(width);
  if (operand.kind != OperandKind::kRegister) invalid("the destination is not a register");
  const Type declared = function_.registers[operand.index].type;
  if (declared == Type::kPred) invalid("the destination is a predicate");
  const uint32_t have = lane_width(declared);
  if (have == width) return allocation_.slot[operand.index];
  if (have < width || !relaxed) {
    invalid("register " + std::string(function_.registers[operand.index].name) + " has the wrong size");
  }
  const Slot narrow = temporary(width);
  after_.push_back({narrow, allocation_.slot[operand.index], width, have, is_signed(type)});
  return narrow;
}

Slot Emitter::predicate_destination(const Operand& operand) {
  if (operand.kind == OperandKind::kSink) return temporary(0);
  if (operand.kind != OperandKind::kRegister || function_.registers[operand.index].type != Type::kPred) {
    invalid("the destination is not a predicate");
  }
  return allocation_.slot[operand.index];
}

Slot Emitter::second_destination() {
  if (in_->second_destination == kNone) return kNoSlot;
  if (function_.registers[in_->second_destination].type != Type::kPred)
    invalid("expected a predicate after '|'");
  return allocation_.slot[in_->second_destination];
}

Inst& Emitter::emit_always(Handler handler) {
  Inst inst;
  inst.run = handler;
  code_.insts.push_back(inst);
  code_.lines.push_back(in_ != nullptr ? in_->line : function_.line);
  return code_.insts.back();
}

Inst& Emitter::emit(Handler handler) {
  Inst& inst = emit_always(handler);
  if (in_->guard != kNone && around_ == kNone) {
    inst.inner = handler;
    inst.run = isa_.guarded;
    inst.guard = allocation_.slot[in_->guard] | (in_->guard_negated ? kInverted : 0);
  }
  return inst;
}

void Emitter::branch_around() {
  if (in_->guard == kNone) return;
  const auto index = static_cast<uint32_t>(code_.insts.size());
  Inst& inst = emit_always(isa_.branch_if);
  inst.guard = allocation_.slot[in_->guard] | (in_->guard_negated ? 0 : kInverted);
  around_ = index;
}

uint32_t Emitter::extra(std::initializer_list<uint32_t> values) {
  const auto at = static_cast<uint32_t>(code_.extra.size());
  code_.extra.insert(code_.extra.end(), values);
  return at;
}

void Emitter::link_target(Inst& inst, uint32_t label) {
  links_.push_back({static_cast<uint32_t>(&inst - code_.insts.data()), label, false, false});
}

void Emitter::link_extra(uint32_t extra_index, uint32_t from, uint32_t label) {
  code_.extra[extra_index] = from;
  links_.push_back({extra_index, label, false, true});
}

void Emitter::set_reconverge(Inst& inst) {
  const FlowBlock& block = flow->blocks[flow->block_of[position_]];
  if (block.post_dominator == kNone) return;
  links_.push_back({static_cast<uint32_t>(&inst - code_.insts.data()),
                    flow->blocks[block.post_dominator].begin, true, false});
}

void Emitter::link() {
  for (const Link& link : links_) {
    const uint32_t target = positions_[link.label];
    if (link.in_extra) {
      code_.extra[link.inst] = target - code_.extra[link.inst];
    } else if (link.is_reconverge) {
      code_.insts[link.inst].reconverge = static_cast<int32_t>(target - link.inst);
    } else {
      code_.insts[link.inst].extra = target - link.inst;
    }
  }
}

}  // namespace sluice::ptx
