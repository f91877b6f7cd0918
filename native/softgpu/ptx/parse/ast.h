// The typed form of a PTX module after parsing: names are resolved, nothing is translated yet.
// Views point into the module's text, which outlives the parse.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/cuda_result.h"
#include "softgpu/ptx/parse/types.h"

namespace sluice::ptx {

// What parsing and translating throw inside compile(); it never leaves it.
struct PtxError {
  CUresult code = CUDA_ERROR_INVALID_PTX;
  uint32_t line = 0;
  std::string message;
};

enum class StateSpace : uint8_t { kGeneric, kReg, kSreg, kConst, kGlobal, kLocal, kParam, kShared };

constexpr uint32_t kNone = 0xffffffffu;

// A piece of an initialiser that is an address: `bytes` wide at `offset`, value = address of symbol + addend.
struct AddressInit {
  uint64_t offset = 0;
  uint32_t bytes = 8;
  uint32_t symbol = kNone;    // index in Module::variables, or
  uint32_t function = kNone;  // index in Module::functions
  int64_t addend = 0;
  uint8_t shift = 0;  // for the masked form 0xFF00(name): bits to drop
};

struct VariableDecl {
  std::string_view name;
  StateSpace space = StateSpace::kGlobal;
  uint64_t bytes = 0;
  uint32_t align = 1;
  bool is_extern = false;
  bool is_weak = false;
  bool is_unsized = false;
  uint32_t owner = kNone;  // function that declares it, kNone at module scope
  uint32_t line = 0;
  std::vector<uint8_t> init;  // at most `bytes`; the rest is zero
  std::vector<AddressInit> addresses;
};

struct RegisterDecl {
  std::string_view name;
  Type type = Type::kB32;
};

enum class OperandKind : uint8_t {
  kNothing,
  kRegister,   // index = register, negated for !p
  kImmediate,  // value
  kSpecial,    // index = special register, component 0..3
  kVariable,   // index = variable, value = addend: its address
  kFunction,   // index = function
  kLabel,      // index = instruction position
  kLabelList,  // index = Function::label_lists
  kPrototype,  // index = prototype of the function
  kVector,     // index = first in Function::lists, count
  kAddress,    // base register (index) or variable (variable) or absolute, value = byte offset
  kSink,       // _
};

enum class Literal : uint8_t { kInteger, kFloat32, kFloat64 };

struct Operand {
  OperandKind kind = OperandKind::kNothing;
  Literal literal = Literal::kInteger;
  bool negated = false;
  uint8_t component = 0;  // of a special register, or selector of a video instruction
  uint16_t count = 0;
  uint32_t index = kNone;
  uint32_t variable = kNone;
  uint64_t value = 0;
};

struct Instruction {
  std::string_view name;  // "ld", "add", …
  uint32_t line = 0;
  uint32_t first_modifier = 0;  // in Function::modifiers
  uint16_t modifier_count = 0;
  uint16_t operand_count = 0;
  uint32_t first_operand = 0;  // in Function::operands
  uint32_t guard = kNone;      // predicate register
  bool guard_negated = false;
  // call only: the operands are [returns…][target][arguments…][prototype or label list].
  uint16_t return_count = 0;
  uint16_t argument_count = 0;
  // setp/shfl/vote: second destination after `|`.
  uint32_t second_destination = kNone;
};

struct Prototype {
  std::string_view name;
  std::vector<uint32_t> return_bytes;
  std::vector<uint32_t> argument_bytes;
  std::vector<std::string_view> target_names;  // .calltargets
};

struct Function {
  std::string_view name;
  uint32_t line = 0;
  bool is_entry = false;
  bool is_extern = false;
  bool is_weak = false;
  bool has_body = false;
  std::vector<uint32_t> returns;     // variables (.param) or registers, see returns_are_registers
  std::vector<uint32_t> parameters;  // same
  bool uses_register_parameters = false;
  std::vector<uint32_t> return_registers;
  std::vector<uint32_t> parameter_registers;
  uint32_t max_threads[3] = {0, 0, 0};
  uint32_t required_threads[3] = {0, 0, 0};
  uint32_t cluster[3] = {0, 0, 0};
  std::vector<RegisterDecl> registers;
  std::vector<Instruction> code;
  std::vector<std::string_view> modifiers;
  std::vector<Operand> operands;
  std::vector<Operand> lists;
  std::vector<std::vector<uint32_t>> label_lists;
  std::vector<Prototype> prototypes;
  // Set when something in the body cannot be carried; the function is refused when it is used.
  PtxError refusal{CUDA_SUCCESS, 0, {}};

  std::string_view modifier(const Instruction& in, uint32_t i) const {
    return modifiers[in.first_modifier + i];
  }
  const Operand& operand(const Instruction& in, uint32_t i) const { return operands[in.first_operand + i]; }
};

struct Module {
  uint32_t version = 0;  // major * 10 + minor
  uint32_t target = 0;   // major * 10 + minor of the compute capability
  std::vector<VariableDecl> variables;
  std::vector<Function> functions;
};

// Special registers (PTX ISA, "Special Registers").
enum class Special : uint8_t {
  kTid,
  kNtid,
  kLaneid,
  kWarpid,
  kNwarpid,
  kCtaid,
  kNctaid,
  kSmid,
  kNsmid,
  kGridid,
  kClusterid,
  kNclusterid,
  kClusterCtaid,
  kClusterNctaid,
  kClusterCtarank,
  kClusterNctarank,
  kIsExplicitCluster,
  kLanemaskEq,
  kLanemaskLe,
  kLanemaskLt,
  kLanemaskGe,
  kLanemaskGt,
  kClock,
  kClockHi,
  kClock64,
  kGlobaltimer,
  kGlobaltimerLo,
  kGlobaltimerHi,
  kDynamicSmemSize,
  kTotalSmemSize,
  kAggrSmemSize,
  kReservedSmem,
  kEnvreg,  // component = number
  kPm,
  kWarpSize,
  kCurrentGraphExec,
};

// Parses a whole module. Throws PtxError for anything that is not PTX.
// Memory is bounded by a multiple of text.size(); there is no recursion on the text's nesting.
Module parse_module(std::string_view text);

}  // namespace sluice::ptx
