// The parser's inside: one class, its parts in parser.cc (module), declaration.cc (variables and
// initialisers), body.cc (functions) and operand.cc (instructions).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "softgpu/ptx/parse/ast.h"
#include "softgpu/ptx/parse/lexer.h"

namespace sluice::ptx {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), lexer_(text) { advance(); }
  Module parse();

 private:
  // `%r<12>` declares twelve registers; those that are mentioned become registers.
  struct Range {
    uint64_t count = 0;
    Type type = Type::kB32;
    std::unordered_map<uint64_t, uint32_t> mentioned;
  };
  enum class NameKind : uint8_t { kRegister, kVariable, kRange };
  struct Name {
    NameKind kind = NameKind::kRegister;
    uint32_t index = 0;
  };
  struct Hidden {
    std::string_view name;
    bool existed = false;
    Name before;
  };
  // A name used before it can be known: a label, a function, a label list or a prototype.
  struct Pending {
    bool in_list = false;
    uint32_t at = 0;
    uint32_t scope = 0;
    uint32_t line = 0;
    std::string_view name;
  };
  struct Linkage {
    bool is_extern = false;
    bool is_weak = false;
  };

  // tokens
  void advance() { token_ = lexer_.next(); }
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_at(uint32_t line, const std::string& what) const;
  bool accept(char c);
  void expect(char c);
  std::string_view expect_word(const char* what);
  uint64_t expect_number(const char* what);
  std::string_view directive();  // the name after a '.'
  std::string found() const;

  // parser.cc
  void module_statement();
  void target();
  void skip_section();
  void skip_to_semicolon();
  void perf_directive(std::string_view name, Function& function);
  void function_declaration(bool is_entry, Linkage linkage);
  std::vector<uint32_t> parameter_list(Function& function, bool is_return);

  // declaration.cc
  void variables(StateSpace space, Linkage linkage, uint32_t owner);
  VariableDecl declarator(StateSpace space, uint32_t owner);
  void initializer(VariableDecl& variable, Type type, const std::vector<uint64_t>& dimensions);
  void initial_value(VariableDecl& variable, Type type, uint64_t offset);
  int64_t constant_expression();
  int64_t constant_term();
  void registers();
  uint32_t find_symbol(std::string_view name, bool& is_function) const;

  // body.cc
  void body(Function& function);
  void statement();
  void directive_statement(std::string_view name, uint32_t line);
  void define_label(std::string_view name, uint32_t line);
  void open_scope();
  void close_scope();
  void bind(std::string_view name, Name value);
  void labelled(std::string_view name, uint32_t line);
  void prototype(std::string_view name);
  void resolve_pending();
  bool find_name(std::string_view name, Name& out);
  bool find_register(std::string_view name, uint32_t& out);

  // operand.cc
  void instruction();
  void call_operands(Instruction& in);
  Operand operand();
  Operand word_operand();
  Operand address();
  Operand vector();
  Operand number_operand(bool negative);
  bool special(std::string_view name, Operand& out);
  uint32_t predicate();
  void push(Instruction& in, const Operand& operand);

  std::string_view text_;
  Lexer lexer_;
  Token token_;
  Module module_;
  std::unordered_map<std::string_view, uint32_t> module_variables_;
  std::unordered_map<std::string_view, uint32_t> functions_;
  size_t init_budget_ = 0;

  // the function being parsed
  uint32_t owner_ = kNone;
  Function* function_ = nullptr;
  std::unordered_map<std::string_view, Name> names_;
  std::vector<Range> ranges_;
  std::vector<Hidden> hidden_;
  std::vector<size_t> scope_marks_;
  std::vector<uint32_t> scope_parents_;
  std::vector<uint32_t> open_scopes_;
  std::map<std::pair<uint32_t, std::string_view>, uint32_t> labels_;
  std::map<std::pair<uint32_t, std::string_view>, uint32_t> label_lists_;
  std::map<std::pair<uint32_t, std::string_view>, uint32_t> prototypes_;
  std::vector<std::vector<Pending>> list_names_;  // one per label list
  std::vector<Pending> pending_;
};

}  // namespace sluice::ptx
