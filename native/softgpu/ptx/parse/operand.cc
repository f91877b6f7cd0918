// Instructions: opcode, modifiers, operands.
#include <array>
#include <bit>
#include <limits>

#include "softgpu/ptx/parse/parser.h"

namespace sluice::ptx {
namespace {

struct SpecialName {
  std::string_view name;
  Special special;
  bool is_vector;
};
constexpr std::array<SpecialName, 36> kSpecials{{
    {"%tid", Special::kTid, true},
    {"%ntid", Special::kNtid, true},
    {"%laneid", Special::kLaneid, false},
    {"%warpid", Special::kWarpid, false},
    {"%nwarpid", Special::kNwarpid, false},
    {"%ctaid", Special::kCtaid, true},
    {"%nctaid", Special::kNctaid, true},
    {"%smid", Special::kSmid, false},
    {"%nsmid", Special::kNsmid, false},
    {"%gridid", Special::kGridid, false},
    {"%clusterid", Special::kClusterid, true},
    {"%nclusterid", Special::kNclusterid, true},
    {"%cluster_ctaid", Special::kClusterCtaid, true},
    {"%cluster_nctaid", Special::kClusterNctaid, true},
    {"%cluster_ctarank", Special::kClusterCtarank, false},
    {"%cluster_nctarank", Special::kClusterNctarank, false},
    {"%is_explicit_cluster", Special::kIsExplicitCluster, false},
    {"%lanemask_eq", Special::kLanemaskEq, false},
    {"%lanemask_le", Special::kLanemaskLe, false},
    {"%lanemask_lt", Special::kLanemaskLt, false},
    {"%lanemask_ge", Special::kLanemaskGe, false},
    {"%lanemask_gt", Special::kLanemaskGt, false},
    {"%clock", Special::kClock, false},
    {"%clock_hi", Special::kClockHi, false},
    {"%clock64", Special::kClock64, false},
    {"%globaltimer", Special::kGlobaltimer, false},
    {"%globaltimer_lo", Special::kGlobaltimerLo, false},
    {"%globaltimer_hi", Special::kGlobaltimerHi, false},
    {"%dynamic_smem_size", Special::kDynamicSmemSize, false},
    {"%total_smem_size", Special::kTotalSmemSize, false},
    {"%aggr_smem_size", Special::kAggrSmemSize, false},
    {"%reserved_smem_offset_begin", Special::kReservedSmem, false},
    {"%reserved_smem_offset_end", Special::kReservedSmem, false},
    {"%reserved_smem_offset_cap", Special::kReservedSmem, false},
    {"WARP_SZ", Special::kWarpSize, false},
    {"%current_graph_exec", Special::kCurrentGraphExec, false},
}};
constexpr size_t kMaxOperands = 4096;

}  // namespace

bool Parser::special(std::string_view name, Operand& out) {
  const auto numbered = [&](std::string_view prefix, Special special, uint32_t limit) {
    if (!name.starts_with(prefix) || name.size() == prefix.size() || name.size() > prefix.size() + 2)
      return false;
    uint32_t number = 0;
    for (const char c : name.substr(prefix.size())) {
      if (c < '0' || c > '9') return false;
      number = number * 10 + static_cast<uint32_t>(c - '0');
    }
    if (number >= limit) return false;
    out.kind = OperandKind::kSpecial;
    out.index = static_cast<uint32_t>(special);
    out.component = static_cast<uint8_t>(number);
    return true;
  };
  if (numbered("%envreg", Special::kEnvreg, 32) || numbered("%pm", Special::kPm, 8)) return true;
  for (const SpecialName& entry : kSpecials) {
    if (entry.name != name) continue;
    out.kind = OperandKind::kSpecial;
    out.index = static_cast<uint32_t>(entry.special);
    out.component = 0;
    if (entry.is_vector && token_.is('.')) {
      advance();
      const std::string_view part = expect_word("a component");
      constexpr std::string_view kParts = "xyzw";
      const size_t at = part.size() == 1 ? kParts.find(part[0]) : std::string_view::npos;
      if (at == std::string_view::npos) fail("expected .x, .y, .z or .w");
      out.component = static_cast<uint8_t>(at);
    }
    return true;
  }
  return false;
}

uint32_t Parser::predicate() {
  const std::string_view name = expect_word("a predicate");
  uint32_t id = 0;
  if (!find_register(name, id)) fail("the predicate " + std::string(name) + " is not declared");
  if (function_->registers[id].type != Type::kPred) fail(std::string(name) + " is not a predicate");
  return id;
}

Operand Parser::number_operand(bool negative) {
  Operand result;
  result.kind = OperandKind::kImmediate;
  if (token_.kind != TokenKind::kNumber) fail("expected a number");
  if (token_.literal == 0) {
    const int64_t value = constant_expression();
    result.value = static_cast<uint64_t>(value);
    if (negative) result.value = 0 - result.value;
    return result;
  }
  result.literal = token_.literal == 1 ? Literal::kFloat32 : Literal::kFloat64;
  result.value = token_.number;
  if (negative) result.value ^= uint64_t{1} << (token_.literal == 1 ? 31 : 63);
  advance();
  return result;
}

Operand Parser::word_operand() {
  const uint32_t line = token_.line;
  const std::string_view name = expect_word("an operand");
  Operand result;
  if (name == "_") {
    result.kind = OperandKind::kSink;
    return result;
  }
  Name bound;
  if (find_name(name, bound)) {
    if (bound.kind == NameKind::kRegister) {
      result.kind = OperandKind::kRegister;
      result.index = bound.index;
      if (token_.is('.') && !token_.spaced) {  // the byte or half that a video instruction selects
        advance();
        const std::string_view part = expect_word("a selector");
        if (part.size() == 2 && part[0] == 'b' && part[1] >= '0' && part[1] <= '3') {
          result.component = static_cast<uint8_t>(1 + (part[1] - '0'));
        } else if (part == "h0" || part == "h1") {
          result.component = static_cast<uint8_t>(5 + (part[1] - '0'));
        } else {
          fail("the selector ." + std::string(part) + " is not known");
        }
      }
      return result;
    }
    result.kind = OperandKind::kVariable;
    result.index = bound.index;
    if (token_.is('+') || token_.is('-')) {
      accept('+');
      result.value = static_cast<uint64_t>(constant_expression());
    }
    return result;
  }
  if (special(name, result)) return result;
  // A label, a function, a label list or a prototype: known at the end of the function.
  result.kind = OperandKind::kNothing;
  pending_.push_back({false, 0, open_scopes_.back(), line, name});
  return result;
}

Operand Parser::address() {
  expect('[');
  Operand result;
  result.kind = OperandKind::kAddress;
  if (token_.kind == TokenKind::kWord) {
    const std::string_view name = expect_word("an address");
    Name bound;
    if (!find_name(name, bound)) fail("the name " + std::string(name) + " is not declared");
    if (bound.kind == NameKind::kRegister) {
      result.index = bound.index;
    } else {
      result.variable = bound.index;
    }
    if (token_.is('+') || token_.is('-')) {
      accept('+');
      result.value = static_cast<uint64_t>(constant_expression());
    }
  } else {
    result.value = static_cast<uint64_t>(constant_expression());
  }
  return result;
}

Operand Parser::vector() {
  expect('{');
  std::vector<Operand> elements;
  do {
    if (elements.size() == kMaxOperands) fail("the vector is too long");
    if (token_.is('{') || token_.is('[')) fail("expected a register or a constant");
    const size_t pending = pending_.size();
    elements.push_back(operand());
    if (pending_.size() != pending) fail("a name in a vector is not declared");
  } while (accept(','));
  expect('}');
  Operand result;
  result.kind = OperandKind::kVector;
  result.index = static_cast<uint32_t>(function_->lists.size());
  result.count = static_cast<uint16_t>(elements.size());
  function_->lists.insert(function_->lists.end(), elements.begin(), elements.end());
  return result;
}

Operand Parser::operand() {
  if (token_.is('{')) return vector();
  if (token_.is('!')) {
    advance();
    Operand result;
    result.kind = OperandKind::kRegister;
    result.index = predicate();
    result.negated = true;
    return result;
  }
  if (token_.is('-')) {
    advance();
    if (token_.kind == TokenKind::kWord) fail("only constants can be negated");
    return number_operand(true);
  }
  if (token_.is('~')) {
    Operand result;
    result.kind = OperandKind::kImmediate;
    result.value = static_cast<uint64_t>(constant_expression());
    return result;
  }
  if (token_.kind == TokenKind::kNumber) return number_operand(false);
  return word_operand();
}

void Parser::push(Instruction& in, const Operand& operand) {
  if (in.operand_count == kMaxOperands) fail("too many operands");
  if (operand.kind == OperandKind::kNothing)
    pending_.back().at = static_cast<uint32_t>(function_->operands.size());
  function_->operands.push_back(operand);
  ++in.operand_count;
}

void Parser::call_operands(Instruction& in) {
  const auto list = [&](uint16_t& count) {
    expect('(');
    if (accept(')')) return;
    do {
      push(in, operand());
      ++count;
    } while (accept(','));
    expect(')');
  };
  if (token_.is('(')) {
    list(in.return_count);
    expect(',');
  }
  push(in, word_operand());
  if (accept(',')) {
    if (token_.is('(')) {
      list(in.argument_count);
      if (accept(',')) push(in, word_operand());
    } else {
      push(in, word_operand());
    }
  }
  expect(';');
}

void Parser::instruction() {
  Instruction in;
  in.first_operand = static_cast<uint32_t>(function_->operands.size());
  in.first_modifier = static_cast<uint32_t>(function_->modifiers.size());
  if (accept('@')) {
    in.guard_negated = accept('!');
    in.guard = predicate();
  }
  in.line = token_.line;
  in.name = expect_word("an instruction");
  if (token_.is(':')) {
    if (in.guard != kNone) fail("a label cannot be predicated");
    advance();
    labelled(in.name, in.line);
    return;
  }
  while (token_.is('.')) {
    advance();
    if (token_.kind != TokenKind::kWord) fail("expected a modifier");
    const std::string_view first = token_.text;
    size_t length = first.size();
    advance();
    while (token_.is(':')) {
      advance();
      expect(':');
      if (token_.kind != TokenKind::kWord) fail("expected a modifier");
      length = static_cast<size_t>(token_.text.data() + token_.text.size() - first.data());
      advance();
    }
    if (in.modifier_count == 64) fail("too many modifiers");
    function_->modifiers.emplace_back(first.data(), length);
    ++in.modifier_count;
  }
  if (in.name == "call") {
    call_operands(in);
    function_->code.push_back(in);
    return;
  }
  while (!token_.is(';')) {
    if (token_.is('[')) {
      Operand base = address();
      push(in, base);
      // texture and asynchronous copy forms have more operands inside the brackets
      while (accept(',')) push(in, token_.is('[') ? address() : operand());
      expect(']');
    } else {
      push(in, operand());
      if (in.operand_count == 1 && accept('|')) {
        if (token_.kind == TokenKind::kWord && token_.text == "_") {
          advance();
        } else {
          const std::string_view name = expect_word("a predicate");
          if (!find_register(name, in.second_destination))
            fail("the register " + std::string(name) + " is not declared");
        }
      }
    }
    if (!accept(',')) break;
  }
  expect(';');
  function_->code.push_back(in);
}

}  // namespace sluice::ptx
