// Module level: directives, functions' headers and parameters.
#include "softgpu/ptx/parse/parser.h"

#include <algorithm>

namespace sluice::ptx {

void Parser::fail_at(uint32_t line, const std::string& what) const {
  throw PtxError{CUDA_ERROR_INVALID_PTX, line, what};
}
void Parser::fail(const std::string& what) const { fail_at(token_.line, what + ", found " + found()); }

std::string Parser::found() const {
  if (token_.kind == TokenKind::kEnd) return "the end of the text";
  std::string text = "'";
  text += token_.text.substr(0, 40);
  text += "'";
  return text;
}

bool Parser::accept(char c) {
  if (!token_.is(c)) return false;
  advance();
  return true;
}

void Parser::expect(char c) {
  if (accept(c)) return;
  std::string what = "expected ' '";
  what[what.size() - 2] = c;
  fail(what);
}

std::string_view Parser::expect_word(const char* what) {
  if (token_.kind != TokenKind::kWord) fail(std::string("expected ") + what);
  const std::string_view word = token_.text;
  advance();
  return word;
}

uint64_t Parser::expect_number(const char* what) {
  if (token_.kind != TokenKind::kNumber || token_.literal != 0) fail(std::string("expected ") + what);
  const uint64_t value = token_.number;
  advance();
  return value;
}

std::string_view Parser::directive() {
  expect('.');
  return expect_word("a directive");
}

Module Parser::parse() {
  init_budget_ = 4096 + 64 * text_.size();
  // .version comes first; without it this is not PTX at all.
  if (!token_.is('.')) fail("expected .version");
  if (directive() != "version") fail("expected .version");
  if (token_.kind != TokenKind::kNumber) fail("expected a version number");
  const std::string_view version = token_.text;
  const size_t dot = version.find('.');
  for (const char c : version.substr(0, std::min(dot, version.size()))) {
    module_.version = std::min<uint32_t>(module_.version * 10 + static_cast<uint32_t>(c - '0'), 1000);
  }
  module_.version *= 10;
  if (dot != std::string_view::npos && dot + 1 < version.size()) {
    module_.version += static_cast<uint32_t>(version[dot + 1] - '0');
  }
  advance();
  while (token_.kind != TokenKind::kEnd) module_statement();
  if (module_.target == 0) fail("the module has no .target");
  return std::move(module_);
}

void Parser::target() {
  do {
    const std::string_view name = expect_word("a target");
    if (name.starts_with("sm_") && name.size() > 4) {
      uint32_t value = 0;
      for (const char c : name.substr(3)) {
        if (c < '0' || c > '9') break;
        value = std::min<uint32_t>(value * 10 + static_cast<uint32_t>(c - '0'), 10000);
      }
      if (value == 0) fail("the target has no number");
      module_.target = value;
    }
  } while (accept(','));
}

void Parser::skip_to_semicolon() {
  while (!token_.is(';')) {
    if (token_.kind == TokenKind::kEnd) fail("expected ';'");
    advance();
  }
  advance();
}

void Parser::skip_section() {
  while (!token_.is('{')) {
    if (token_.kind == TokenKind::kEnd) fail("expected '{'");
    advance();
  }
  size_t depth = 0;
  do {
    if (token_.is('{')) ++depth;
    if (token_.is('}')) --depth;
    if (token_.kind == TokenKind::kEnd) fail("a section is not closed");
    advance();
  } while (depth > 0);
}

void Parser::module_statement() {
  if (accept(';')) return;
  Linkage linkage;
  std::string_view name = directive();
  while (name == "visible" || name == "extern" || name == "weak" || name == "common") {
    linkage.is_extern |= name == "extern";
    linkage.is_weak |= name == "weak" || name == "common";
    name = directive();
  }
  if (name == "entry" || name == "func") {
    function_declaration(name == "entry", linkage);
  } else if (name == "global") {
    variables(StateSpace::kGlobal, linkage, kNone);
  } else if (name == "const") {
    variables(StateSpace::kConst, linkage, kNone);
  } else if (name == "shared") {
    variables(StateSpace::kShared, linkage, kNone);
  } else if (name == "target") {
    target();
  } else if (name == "address_size") {
    if (expect_number("an address size") != 64) fail("only 64-bit addresses are supported");
  } else if (name == "file") {
    expect_number("a file number");
    if (token_.kind != TokenKind::kString) fail("expected a file name");
    advance();
    while (accept(',')) expect_number("a number");
  } else if (name == "loc") {
    while (!token_.is('.') && token_.kind != TokenKind::kEnd) advance();
  } else if (name == "section") {
    skip_section();
  } else if (name == "pragma" || name == "alias") {
    skip_to_semicolon();
  } else if (name == "tex") {
    variables(StateSpace::kGlobal, linkage, kNone);
  } else {
    fail_at(token_.line, "the directive ." + std::string(name) + " is not known");
  }
}

void Parser::perf_directive(std::string_view name, Function& function) {
  const auto triple = [&](uint32_t* out) {
    for (int i = 0; i < 3; ++i) {
      out[i] = 1;
    }
    int i = 0;
    do {
      if (i == 3) fail("too many dimensions");
      out[i++] = static_cast<uint32_t>(std::min<uint64_t>(expect_number("a dimension"), 0xffffffffu));
    } while (accept(','));
  };
  if (name == "maxntid") {
    triple(function.max_threads);
  } else if (name == "reqntid") {
    triple(function.required_threads);
  } else if (name == "reqnctapercluster") {
    triple(function.cluster);
  } else if (name == "minnctapersm" || name == "maxnctapersm" || name == "maxnreg" ||
             name == "maxclusterrank" || name == "abi_preserve" || name == "abi_preserve_control" ||
             name == "local_maxnreg") {
    expect_number("a number");
  } else if (name == "pragma") {
    skip_to_semicolon();
  } else if (name == "attribute") {
    expect('(');
    size_t depth = 1;
    while (depth > 0) {
      if (token_.kind == TokenKind::kEnd) fail("expected ')'");
      if (token_.is('(')) ++depth;
      if (token_.is(')')) --depth;
      advance();
    }
  } else if (name != "noreturn" && name != "explicitcluster" && name != "blocksareclusters") {
    fail_at(token_.line, "the directive ." + std::string(name) + " is not known here");
  }
}

std::vector<uint32_t> Parser::parameter_list(Function& function, bool is_return) {
  std::vector<uint32_t> result;
  expect('(');
  if (accept(')')) return result;
  do {
    const std::string_view space = directive();
    if (space == "param") {
      VariableDecl variable = declarator(StateSpace::kParam, owner_);
      result.push_back(static_cast<uint32_t>(module_.variables.size()));
      if (variable.name != "_") {
        bind(variable.name, {NameKind::kVariable, static_cast<uint32_t>(module_.variables.size())});
      }
      module_.variables.push_back(std::move(variable));
    } else if (space == "reg") {
      const Type type = type_from_name(directive());
      if (type == Type::kNone) fail("expected a type");
      const std::string_view name = expect_word("a register");
      const auto id = static_cast<uint32_t>(function.registers.size());
      function.registers.push_back({name, type});
      bind(name, {NameKind::kRegister, id});
      (is_return ? function.return_registers : function.parameter_registers).push_back(id);
      function.uses_register_parameters = true;
    } else {
      fail("expected .param or .reg");
    }
  } while (accept(','));
  expect(')');
  return result;
}

void Parser::function_declaration(bool is_entry, Linkage linkage) {
  Function function;
  function.line = token_.line;
  function.is_entry = is_entry;
  function.is_extern = linkage.is_extern;
  function.is_weak = linkage.is_weak;
  names_.clear();
  ranges_.clear();
  hidden_.clear();
  scope_marks_.clear();
  while (token_.is('.')) {  // .attribute may stand before the name
    perf_directive(directive(), function);
  }
  owner_ = static_cast<uint32_t>(module_.functions.size());
  if (!is_entry && token_.is('(')) function.returns = parameter_list(function, true);
  function.name = expect_word("a function name");
  const auto known = functions_.find(function.name);
  if (known != functions_.end()) {
    owner_ = known->second;
    if (module_.functions[owner_].is_entry != is_entry) fail("a function and a kernel share a name");
    for (const uint32_t variable : function.returns) module_.variables[variable].owner = owner_;
  }
  if (token_.is('(')) function.parameters = parameter_list(function, false);
  while (token_.is('.')) perf_directive(directive(), function);
  if (token_.is(';')) {
    advance();
    if (known == functions_.end()) {
      functions_.emplace(function.name, owner_);
      module_.functions.push_back(std::move(function));
    }
    owner_ = kNone;
    return;
  }
  if (known == functions_.end()) {
    functions_.emplace(function.name, owner_);
    module_.functions.emplace_back();
    module_.functions.back().name = function.name;
    module_.functions.back().is_entry = is_entry;
  } else if (module_.functions[owner_].has_body) {
    fail("function " + std::string(function.name) + " is defined twice");
  }
  function.has_body = true;
  body(function);
  module_.functions[owner_] = std::move(function);
  owner_ = kNone;
}

Module parse_module(std::string_view text) { return Parser(text).parse(); }

}  // namespace sluice::ptx
