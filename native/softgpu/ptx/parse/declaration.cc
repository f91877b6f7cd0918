// Registers, variables and their initialisers.
#include <algorithm>
#include <bit>
#include <limits>

#include "softgpu/ptx/parse/parser.h"

namespace sluice::ptx {
namespace {

// More than any device holds; keeps sizes and offsets far from overflow.
constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 46;
// Deeper constant expressions than any compiler writes; bounds the parser's own stack.
constexpr int kMaxExpressionDepth = 64;
constexpr size_t kMaxDimensions = 16;

}  // namespace

void Parser::registers() {
  std::string_view name = directive();
  uint32_t lanes = 1;
  if (name == "v2" || name == "v4") {
    lanes = name == "v2" ? 2 : 4;
    name = directive();
  }
  const Type type = type_from_name(name);
  if (type == Type::kNone) fail("expected a register type");
  if (lanes != 1) fail("vector registers are not supported");
  do {
    const std::string_view base = expect_word("a register name");
    if (accept('<')) {
      const uint64_t count = expect_number("a register count");
      expect('>');
      bind(base, {NameKind::kRange, static_cast<uint32_t>(ranges_.size())});
      ranges_.push_back({count, type, {}});
    } else {
      bind(base, {NameKind::kRegister, static_cast<uint32_t>(function_->registers.size())});
      function_->registers.push_back({base, type});
    }
  } while (accept(','));
  expect(';');
}

VariableDecl Parser::declarator(StateSpace space, uint32_t owner) {
  VariableDecl variable;
  variable.space = space;
  variable.owner = owner;
  variable.line = token_.line;
  Type type = Type::kNone;
  uint32_t lanes = 1;
  uint64_t align = 0;
  while (token_.is('.')) {
    const std::string_view word = directive();
    if (word == "align") {
      align = expect_number("an alignment");
      if (!std::has_single_bit(align) || align > 4096) fail("the alignment is not a power of two up to 4096");
    } else if (word == "v2" || word == "v4" || word == "v8") {
      lanes = static_cast<uint32_t>(word[1] - '0');
    } else if (word == "ptr" || word == "global" || word == "const" || word == "local" || word == "shared" ||
               word == "generic" || word == "param") {
      continue;  // what a pointer parameter points to: a hint
    } else if (word == "attribute") {
      expect('(');
      size_t depth = 1;
      while (depth > 0) {
        if (token_.kind == TokenKind::kEnd) fail("expected ')'");
        depth += token_.is('(');
        depth -= token_.is(')');
        advance();
      }
    } else if (word == "texref" || word == "samplerref" || word == "surfref") {
      type = Type::kB64;
    } else {
      type = type_from_name(word);
      if (type == Type::kNone || type == Type::kPred) {
        fail("'." + std::string(word) + "' is not a type of a variable");
      }
    }
  }
  if (type == Type::kNone) fail("expected a type");
  variable.name = expect_word("a variable name");
  const uint64_t element = uint64_t{type_bytes(type)} * lanes;
  variable.align = static_cast<uint32_t>(align != 0 ? align : element);
  std::vector<uint64_t> dimensions;
  uint64_t total = element;
  while (accept('[')) {
    if (dimensions.size() == kMaxDimensions) fail("too many dimensions");
    if (accept(']')) {
      if (!dimensions.empty()) fail("only the first dimension may be open");
      dimensions.push_back(0);
      continue;
    }
    const uint64_t count = static_cast<uint64_t>(constant_expression());
    expect(']');
    if (count != 0 && total > kMaxVariableBytes / count) fail("the variable is too large");
    if (count == 0 && dimensions.empty()) {
      dimensions.push_back(0);
      continue;
    }
    total *= count;
    dimensions.push_back(count);
  }
  variable.is_unsized = !dimensions.empty() && dimensions[0] == 0;
  variable.bytes = variable.is_unsized ? 0 : total;
  if (accept('=')) {
    if (space != StateSpace::kGlobal && space != StateSpace::kConst)
      fail("this variable cannot be initialised");
    if (lanes > 1) dimensions.push_back(lanes);
    initializer(variable, type, dimensions);
  }
  return variable;
}

void Parser::variables(StateSpace space, Linkage linkage, uint32_t owner) {
  // `.global .b32 a, b[4] = {…};` — the qualifiers are shared, so they are read again for each name by
  // remembering them in a first declarator.
  VariableDecl variable = declarator(space, owner);
  for (;;) {
    variable.is_extern = linkage.is_extern;
    variable.is_weak = linkage.is_weak;
    const auto id = static_cast<uint32_t>(module_.variables.size());
    const uint64_t bytes = variable.bytes;
    const uint32_t align = variable.align;
    const bool scalar = !variable.is_unsized;
    if (owner == kNone) {
      const auto [at, fresh] = module_variables_.emplace(variable.name, id);
      if (!fresh) {
        VariableDecl& before = module_.variables[at->second];
        if (!before.is_extern && !variable.is_extern && !variable.is_weak) {
          fail("variable " + std::string(variable.name) + " is defined twice");
        }
        if (before.is_extern && !variable.is_extern) before = std::move(variable);
      } else {
        module_.variables.push_back(std::move(variable));
      }
    } else {
      bind(variable.name, {NameKind::kVariable, id});
      module_.variables.push_back(std::move(variable));
    }
    if (!accept(',')) break;
    VariableDecl following;
    following.space = space;
    following.owner = owner;
    following.line = token_.line;
    following.name = expect_word("a variable name");
    following.bytes = scalar ? bytes : 0;
    following.align = align;
    if (token_.is('[') || token_.is('=')) fail("write array variables in statements of their own");
    variable = std::move(following);
  }
  expect(';');
}

void Parser::initializer(VariableDecl& variable, Type type, const std::vector<uint64_t>& dimensions) {
  const uint64_t width = type_bytes(type);
  if (token_.kind == TokenKind::kString) {
    const uint64_t limit = variable.is_unsized ? token_.text.size() + 1 : variable.bytes;
    if (token_.text.size() > limit) fail("the string is longer than the variable");
    variable.init.assign(token_.text.begin(), token_.text.end());
    if (variable.is_unsized) variable.bytes = limit;
    variable.is_unsized = false;
    advance();
    return;
  }
  if (!token_.is('{')) {
    initial_value(variable, type, 0);
    return;
  }
  // strides[d]: bytes that one brace pair at depth d covers.
  std::vector<uint64_t> strides(dimensions.size() + 1, width);
  for (size_t d = dimensions.size(); d-- > 0;) {
    strides[d] = d == 0 && dimensions[0] == 0 ? kMaxVariableBytes : strides[d + 1] * dimensions[d];
  }
  std::vector<uint64_t> starts;
  uint64_t offset = 0;
  uint64_t high = 0;
  do {
    if (accept('{')) {
      if (starts.size() >= dimensions.size()) fail("too many braces in an initialiser");
      starts.push_back(offset);
      if (!token_.is('}')) continue;
    } else {
      initial_value(variable, type, offset);
      offset += width;
      high = std::max(high, offset);
      if (offset > (variable.is_unsized ? kMaxVariableBytes : variable.bytes)) {
        fail("the initialiser is longer than the variable");
      }
    }
    while (!starts.empty() && token_.is('}')) {
      advance();
      if (starts.size() > 1) offset = starts.back() + strides[starts.size() - 1];
      high = std::max(high, offset);
      starts.pop_back();
    }
    if (starts.empty()) break;
    if (!accept(',')) {
      if (!token_.is('}')) fail("expected ',' or '}'");
      continue;
    }
  } while (true);
  if (variable.is_unsized) {
    variable.bytes = high;
    variable.is_unsized = false;
  }
}

uint32_t Parser::find_symbol(std::string_view name, bool& is_function) const {
  is_function = false;
  if (const auto at = module_variables_.find(name); at != module_variables_.end()) return at->second;
  is_function = true;
  if (const auto at = functions_.find(name); at != functions_.end()) return at->second;
  return kNone;
}

void Parser::initial_value(VariableDecl& variable, Type type, uint64_t offset) {
  const uint32_t width = type_bytes(type);
  if (offset + width > variable.init.size()) {
    const size_t more = offset + width - variable.init.size();
    if (more > init_budget_) fail("the initialiser is too sparse");
    init_budget_ -= more;
    variable.init.resize(offset + width);
  }
  uint64_t bits = 0;
  uint64_t mask = 0;
  bool negative = false;
  if (token_.kind == TokenKind::kNumber && token_.literal == 0) {
    const Token number = token_;
    advance();
    if (token_.is('(') && token_.kind == TokenKind::kPunctuation) {
      mask = number.number;  // 0xFF00(name)
    } else if (is_float(type)) {
      bits = number.number;
      if (type == Type::kF32) bits = std::bit_cast<uint32_t>(static_cast<float>(number.number));
      if (type == Type::kF64) bits = std::bit_cast<uint64_t>(static_cast<double>(number.number));
    } else {
      bits = number.number;
      if (token_.is('+') || token_.is('-')) {
        const bool minus = token_.is('-');
        advance();
        const auto rest = static_cast<uint64_t>(constant_expression());
        bits = minus ? bits - rest : bits + rest;
      }
    }
    if (mask == 0) {
      for (uint32_t i = 0; i < width && i < 8; ++i)
        variable.init[offset + i] = static_cast<uint8_t>(bits >> (8 * i));
      return;
    }
    advance();
  } else if (token_.is('-') || token_.is('(') || token_.is('~') || token_.is('!') ||
             (token_.kind == TokenKind::kNumber)) {
    negative = accept('-');
    if (token_.kind == TokenKind::kNumber && token_.literal != 0) {
      const Token number = token_;
      advance();
      if (type == Type::kF64) {
        double value = number.literal == 1
                           ? double{std::bit_cast<float>(static_cast<uint32_t>(number.number))}
                           : std::bit_cast<double>(number.number);
        bits = std::bit_cast<uint64_t>(negative ? -value : value);
      } else if (width == 4) {
        float value = number.literal == 1 ? std::bit_cast<float>(static_cast<uint32_t>(number.number))
                                          : static_cast<float>(std::bit_cast<double>(number.number));
        bits = std::bit_cast<uint32_t>(negative ? -value : value);
      } else {
        bits = number.number;
      }
    } else {
      const auto value = static_cast<uint64_t>(constant_expression());
      bits = negative ? 0 - value : value;
      if (type == Type::kF64) bits = std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(bits)));
      if (type == Type::kF32) bits = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int64_t>(bits)));
    }
    for (uint32_t i = 0; i < width && i < 8; ++i)
      variable.init[offset + i] = static_cast<uint8_t>(bits >> (8 * i));
    return;
  }
  // An address: name, generic(name), 0xFF(name), each with +offset inside or outside.
  std::string_view name = expect_word("an initial value");
  bool inner = mask != 0;
  if (name == "generic" && token_.is('(')) {
    advance();
    if (inner) fail("generic() inside a masked address is not supported");
    inner = true;
    name = expect_word("a variable name");
  }
  AddressInit address;
  address.offset = offset;
  address.bytes = width;
  const auto addend = [&] {
    if (!token_.is('+') && !token_.is('-')) return;
    const bool minus = accept('-');
    if (!minus) expect('+');
    const auto value = static_cast<uint64_t>(constant_expression());
    address.addend =
        static_cast<int64_t>(static_cast<uint64_t>(address.addend) + (minus ? 0 - value : value));
  };
  addend();
  if (inner) {
    expect(')');
    addend();
  }
  if (mask != 0) {
    const int low = std::countr_zero(mask);
    if (low % 8 != 0) fail("an address mask does not start at a byte");
    address.shift = static_cast<uint8_t>(low);
  }
  bool is_function = false;
  const uint32_t index = find_symbol(name, is_function);
  if (index == kNone) fail("the name " + std::string(name) + " in an initialiser is not known");
  (is_function ? address.function : address.symbol) = index;
  if (init_budget_ < sizeof(AddressInit)) fail("too many addresses in initialisers");
  variable.addresses.push_back(address);
}

int64_t Parser::constant_term() {
  int minus = 0;
  uint64_t inverted = 0;
  for (int depth = 0; token_.is('-') || token_.is('~') || token_.is('+'); ++depth) {
    if (depth == kMaxExpressionDepth) fail("a constant expression is too deep");
    if (token_.is('-')) minus ^= 1;
    if (token_.is('~')) inverted = ~inverted;
    advance();
  }
  if (token_.is('(')) fail("parentheses in constant expressions are not supported");
  uint64_t value = expect_number("a constant");
  value ^= inverted;
  return static_cast<int64_t>(minus ? 0 - value : value);
}

int64_t Parser::constant_expression() {
  const auto product = [&] {
    auto value = static_cast<uint64_t>(constant_term());
    while (accept('*')) value *= static_cast<uint64_t>(constant_term());
    return value;
  };
  uint64_t sum = product();
  while (token_.is('+') || token_.is('-')) {
    accept('+');  // a '-' is read as the sign of the next term
    sum += product();
  }
  return static_cast<int64_t>(sum);
}

}  // namespace sluice::ptx
