// Function bodies: scopes, labels, names.
#include <charconv>

#include "softgpu/ptx/parse/parser.h"

namespace sluice::ptx {

void Parser::bind(std::string_view name, Name value) {
  const auto at = names_.find(name);
  Hidden hidden{name, at != names_.end(), {}};
  if (hidden.existed) hidden.before = at->second;
  if (!scope_marks_.empty()) hidden_.push_back(hidden);
  names_[name] = value;
}

void Parser::open_scope() {
  const auto id = static_cast<uint32_t>(scope_parents_.size());
  scope_parents_.push_back(open_scopes_.empty() ? kNone : open_scopes_.back());
  open_scopes_.push_back(id);
  scope_marks_.push_back(hidden_.size());
}

void Parser::close_scope() {
  while (hidden_.size() > scope_marks_.back()) {
    const Hidden& hidden = hidden_.back();
    if (hidden.existed) {
      names_[hidden.name] = hidden.before;
    } else {
      names_.erase(hidden.name);
    }
    hidden_.pop_back();
  }
  scope_marks_.pop_back();
  open_scopes_.pop_back();
}

bool Parser::find_name(std::string_view name, Name& out) {
  if (const auto at = names_.find(name); at != names_.end() && at->second.kind != NameKind::kRange) {
    out = at->second;
    return true;
  }
  // %r12 of a range %r<100>
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  if (digits < name.size() && digits > 0) {
    // A range's own name may end in digits: try every split, the longest prefix last.
    for (size_t split = digits; split < name.size(); ++split) {
      if (split + 1 < name.size() && name[split] == '0') continue;
      const auto at = names_.find(name.substr(0, split));
      if (at == names_.end() || at->second.kind != NameKind::kRange) continue;
      uint64_t number = 0;
      const auto [end, error] = std::from_chars(name.data() + split, name.data() + name.size(), number);
      Range& range = ranges_[at->second.index];
      if (error != std::errc() || number >= range.count) continue;
      const auto [slot, fresh] = range.mentioned.emplace(number, 0);
      if (fresh) {
        slot->second = static_cast<uint32_t>(function_->registers.size());
        function_->registers.push_back({name, range.type});
      }
      out = {NameKind::kRegister, slot->second};
      return true;
    }
  }
  if (const auto at = module_variables_.find(name); at != module_variables_.end()) {
    out = {NameKind::kVariable, at->second};
    return true;
  }
  return false;
}

bool Parser::find_register(std::string_view name, uint32_t& out) {
  Name found_name;
  if (!find_name(name, found_name) || found_name.kind != NameKind::kRegister) return false;
  out = found_name.index;
  return true;
}

void Parser::body(Function& function) {
  function_ = &function;
  scope_parents_.clear();
  open_scopes_.clear();
  labels_.clear();
  label_lists_.clear();
  prototypes_.clear();
  list_names_.clear();
  pending_.clear();
  expect('{');
  open_scope();
  while (!open_scopes_.empty()) {
    if (token_.is('{')) {
      open_scope();
      advance();
    } else if (token_.is('}')) {
      close_scope();
      advance();
    } else if (token_.kind == TokenKind::kEnd) {
      fail("function " + std::string(function.name) + " is not closed");
    } else {
      statement();
    }
  }
  resolve_pending();
  function_ = nullptr;
}

void Parser::statement() {
  if (accept(';')) return;
  if (token_.kind == TokenKind::kWord || token_.is('@')) {
    instruction();
    return;
  }
  const uint32_t line = token_.line;
  directive_statement(directive(), line);
}

void Parser::directive_statement(std::string_view name, uint32_t line) {
  Linkage linkage;
  while (name == "extern" || name == "visible" || name == "weak") {
    linkage.is_extern |= name == "extern";
    linkage.is_weak |= name == "weak";
    name = directive();
  }
  if (name == "reg") {
    registers();
  } else if (name == "param") {
    variables(StateSpace::kParam, linkage, owner_);
  } else if (name == "local") {
    variables(StateSpace::kLocal, linkage, owner_);
  } else if (name == "shared") {
    variables(StateSpace::kShared, linkage, owner_);
  } else if (name == "global") {
    variables(StateSpace::kGlobal, linkage, owner_);
  } else if (name == "const") {
    variables(StateSpace::kConst, linkage, owner_);
  } else if (name == "loc") {
    // .loc file line column [, function_name label, inlined_at …]: everything on this source line
    while (token_.kind != TokenKind::kEnd && token_.line == line) advance();
  } else if (name == "pragma") {
    skip_to_semicolon();
  } else if (name == "maxntid" || name == "reqntid" || name == "minnctapersm" || name == "maxnreg") {
    perf_directive(name, *function_);
  } else {
    fail_at(line, "the directive ." + std::string(name) + " is not known in a function");
  }
}

void Parser::labelled(std::string_view name, uint32_t line) {
  const auto key = std::make_pair(open_scopes_.back(), name);
  if (token_.is('.')) {
    const std::string_view what = directive();
    if (what == "branchtargets") {
      std::vector<Pending> names;
      do {
        Pending pending;
        pending.scope = open_scopes_.back();
        pending.line = token_.line;
        pending.name = expect_word("a label");
        names.push_back(pending);
      } while (accept(','));
      expect(';');
      label_lists_[key] = static_cast<uint32_t>(list_names_.size());
      list_names_.push_back(std::move(names));
      return;
    }
    if (what == "callprototype" || what == "calltargets") {
      prototypes_[key] = static_cast<uint32_t>(function_->prototypes.size());
      if (what == "callprototype") {
        prototype(name);
      } else {
        Prototype targets;
        targets.name = name;
        do targets.target_names.push_back(expect_word("a function"));
        while (accept(','));
        expect(';');
        function_->prototypes.push_back(std::move(targets));
      }
      return;
    }
    define_label(name, line);
    directive_statement(what, line);
    return;
  }
  define_label(name, line);
}

void Parser::define_label(std::string_view name, uint32_t line) {
  const auto key = std::make_pair(open_scopes_.back(), name);
  if (!labels_.emplace(key, static_cast<uint32_t>(function_->code.size())).second) {
    fail_at(line, "label " + std::string(name) + " is defined twice");
  }
}

void Parser::prototype(std::string_view name) {
  Prototype result;
  result.name = name;
  const auto list = [&](std::vector<uint32_t>& sizes) {
    expect('(');
    if (accept(')')) return;
    do {
      const std::string_view space = directive();
      if (space == "reg") {
        const Type type = type_from_name(directive());
        expect_word("a register");
        sizes.push_back(type_bytes(type));
        continue;
      }
      if (space != "param") fail("expected .param");
      const VariableDecl variable = declarator(StateSpace::kParam, owner_);
      sizes.push_back(static_cast<uint32_t>(variable.bytes));
    } while (accept(','));
    expect(')');
  };
  if (token_.is('(')) list(result.return_bytes);
  expect_word("a name");
  if (token_.is('(')) list(result.argument_bytes);
  while (token_.is('.')) perf_directive(directive(), *function_);
  expect(';');
  function_->prototypes.push_back(std::move(result));
}

void Parser::resolve_pending() {
  const auto lookup = [&](const auto& table, const Pending& pending, uint32_t& out) {
    for (uint32_t scope = pending.scope; scope != kNone; scope = scope_parents_[scope]) {
      if (const auto at = table.find({scope, pending.name}); at != table.end()) {
        out = at->second;
        return true;
      }
    }
    return false;
  };
  for (const Pending& pending : pending_) {
    Operand& operand = pending.in_list ? function_->lists[pending.at] : function_->operands[pending.at];
    if (lookup(labels_, pending, operand.index)) {
      operand.kind = OperandKind::kLabel;
    } else if (lookup(label_lists_, pending, operand.index)) {
      operand.kind = OperandKind::kLabelList;
    } else if (lookup(prototypes_, pending, operand.index)) {
      operand.kind = OperandKind::kPrototype;
    } else if (const auto at = functions_.find(pending.name); at != functions_.end()) {
      operand.kind = OperandKind::kFunction;
      operand.index = at->second;
    } else {
      fail_at(pending.line, "the name " + std::string(pending.name) + " is not known");
    }
  }
  for (const auto& names : list_names_) {
    std::vector<uint32_t> targets;
    for (const Pending& pending : names) {
      uint32_t at = 0;
      if (!lookup(labels_, pending, at)) {
        fail_at(pending.line, "the label " + std::string(pending.name) + " is not known");
      }
      targets.push_back(at);
    }
    function_->label_lists.push_back(std::move(targets));
  }
}

}  // namespace sluice::ptx
