#include "softgpu/link_text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>

#include "softgpu/image.h"

namespace sluice::softgpu {
namespace {

enum class Linkage { kLocal, kExtern, kVisible, kWeak, kCommon };

// One statement outside of all functions, with its text from the first token to the last.
struct Item {
  std::string text;
  std::string symbol;  // empty for what defines and declares nothing
  Linkage linkage = Linkage::kLocal;
  bool has_body = false;
};

struct Unit {
  const LinkInput* input = nullptr;
  std::string version;
  std::string target;
  std::vector<Item> items;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

// Without comments, which would otherwise have to be told from everything else at each step.
std::string strip_comments(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      const size_t end = std::min(text.find('"', at + 1), text.size() - 1);
      out += text.substr(at, end - at + 1);
      at = end;
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if (text.substr(at, 2) == "/*") {
      const size_t end = text.find("*/", at + 2);
      if (end == std::string_view::npos) break;
      at = end + 1;
      out += ' ';
    } else {
      out += text[at];
    }
  }
  return out;
}

// Words, and everything else one character at a time; strings are one token.
std::vector<std::string_view> tokens_of(std::string_view text) {
  std::vector<std::string_view> tokens;
  for (size_t at = 0; at < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
      continue;
    }
    size_t end = at + 1;
    if (text[at] == '"') {
      end = std::min(text.find('"', end), text.size() - 1) + 1;
    } else if (is_word(text[at]) || text[at] == '.') {
      while (end < text.size() && is_word(text[end])) ++end;
    }
    tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

// What a variable or function is called. Of a function: the word before its parameters, which follow a list
// of results if there is one. Of a variable: the last word before its size, its value or its end.
std::string symbol_of(const std::vector<std::string_view>& tokens, bool is_function) {
  size_t at = 0;
  const auto skip_list = [&] {
    int depth = 0;
    do {
      if (tokens[at] == "(") ++depth;
      if (tokens[at] == ")") --depth;
      ++at;
    } while (at < tokens.size() && depth > 0);
  };
  if (is_function) {
    while (at < tokens.size() && tokens[at] != ".func" && tokens[at] != ".entry") ++at;
    ++at;
    while (at < tokens.size() && tokens[at].starts_with('.')) ++at;
    if (at < tokens.size() && tokens[at] == "(") skip_list();
    return at < tokens.size() ? std::string(tokens[at]) : "";
  }
  std::string last;
  for (; at < tokens.size(); ++at) {
    const std::string_view token = tokens[at];
    if (token == "[" || token == "=" || token == ";" || token == ",") break;
    if (!token.starts_with('.') && is_word(token.front()) &&
        !std::isdigit(static_cast<unsigned char>(token.front())))
      last = token;
  }
  return last;
}

Linkage linkage_of(const std::vector<std::string_view>& tokens) {
  for (const std::string_view token : tokens) {
    if (token == ".extern") return Linkage::kExtern;
    if (token == ".visible") return Linkage::kVisible;
    if (token == ".weak") return Linkage::kWeak;
    if (token == ".common") return Linkage::kCommon;
    if (!token.starts_with('.')) break;
  }
  return Linkage::kLocal;
}

void add_item(Unit& unit, std::string_view text, bool has_body) {
  const auto tokens = tokens_of(text.substr(0, has_body ? text.find('{') : text.size()));
  if (tokens.empty()) return;
  Item item;
  item.text = text;
  item.has_body = has_body;
  item.linkage = linkage_of(tokens);
  bool is_function = false;
  bool is_variable = false;
  for (const std::string_view token : tokens) {
    is_function = is_function || token == ".func" || token == ".entry";
    is_variable = is_variable || token == ".global" || token == ".const" || token == ".shared";
    if (is_function || is_variable) break;
  }
  if (is_function || is_variable) item.symbol = symbol_of(tokens, is_function);
  unit.items.push_back(std::move(item));
}

// Cuts the text into statements. A line that begins with .version, .target or .address_size is one.
Unit split(const LinkInput& input) {
  Unit unit;
  unit.input = &input;
  const std::string text = strip_comments(input.text);
  size_t begin = 0;
  int depth = 0;
  bool is_function = false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (depth == 0 && begin == at && std::isspace(static_cast<unsigned char>(text[at]))) {
      begin = at + 1;
      is_function = false;
      continue;
    }
    const std::string_view rest = std::string_view(text).substr(at);
    if (begin == at &&
        (rest.starts_with(".version") || rest.starts_with(".target") || rest.starts_with(".address_size") ||
         rest.starts_with(".file") || rest.starts_with(".loc"))) {
      const std::string line(rest.substr(0, rest.find('\n')));
      if (line.starts_with(".version")) unit.version = line;
      if (line.starts_with(".target")) unit.target = line;
      at += line.size();
      begin = at + 1;
      continue;
    }
    if (rest.starts_with(".func") || rest.starts_with(".entry")) is_function = true;
    if (text[at] == '"') at = std::min(text.find('"', at + 1), text.size() - 1);
    if (text[at] == '{') ++depth;
    if (text[at] == '}') --depth;
    const bool ends_body = depth == 0 && text[at] == '}' && is_function;
    if (depth == 0 && (text[at] == ';' || ends_body)) {
      add_item(unit, std::string_view(text).substr(begin, at - begin + 1), ends_body);
      begin = at + 1;
      is_function = false;
    }
  }
  return unit;
}

std::string rename(const std::string& text, const std::map<std::string, std::string>& names) {
  if (names.empty()) return text;
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '"') {
      end = std::min(text.find('"', end), text.size() - 1) + 1;
    } else if (is_word(text[at])) {
      while (end < text.size() && is_word(text[end])) ++end;
      // After a dot it is an instruction or a directive.
      const auto found = at > 0 && text[at - 1] == '.' ? names.end() : names.find(text.substr(at, end - at));
      if (found != names.end()) {
        out += found->second;
        at = end;
        continue;
      }
    }
    out.append(text, at, end - at);
    at = end;
  }
  return out;
}

// A newer version has more characters or compares greater.
bool is_newer(const std::string& version, const std::string& than) {
  return version.size() != than.size() ? version.size() > than.size() : version > than;
}

}  // namespace

bool link_text(const std::vector<LinkInput>& inputs, std::string* out, std::string* error) {
  std::vector<Unit> units;
  for (const LinkInput& input : inputs) units.push_back(split(input));

  std::map<std::string, const Unit*> strong;  // who defines a visible symbol
  std::map<std::string, const Item*> shared;  // the definition that is taken
  std::map<std::string, int> local_uses;
  for (const Unit& unit : units) {
    std::set<std::string> mine;
    for (const Item& item : unit.items) {
      const bool declares = item.linkage == Linkage::kExtern;
      if (item.symbol.empty() || declares) continue;
      const bool is_declaration_of_function =
          !item.has_body &&
          (item.text.find(".func") != std::string::npos || item.text.find(".entry") != std::string::npos);
      if (is_declaration_of_function) continue;
      if (item.linkage == Linkage::kLocal) {
        mine.insert(item.symbol);
      } else if (item.linkage == Linkage::kVisible) {
        const auto [at, is_new] = strong.emplace(item.symbol, &unit);
        if (!is_new) {
          *error = "the symbol " + item.symbol + " is defined in " + at->second->input->name + " and in " +
                   unit.input->name;
          return false;
        }
        shared[item.symbol] = &item;
      } else {
        shared.emplace(item.symbol, &item);  // a weak or common one, unless there is another already
      }
    }
    for (const std::string& name : mine) ++local_uses[name];
  }

  // Variables and declarations come first: a function may use what another text defines.
  std::string version, target, heads, bodies;
  std::set<std::string> external;  // declared, and defined by nobody
  int number = 0;
  for (const Unit& unit : units) {
    ++number;
    if (is_newer(unit.version, version)) version = unit.version;
    if (ptx_target(unit.target) > ptx_target(target)) target = unit.target;
    std::map<std::string, std::string> names;
    for (const Item& item : unit.items) {
      if (item.linkage != Linkage::kLocal || item.symbol.empty()) continue;
      if (local_uses[item.symbol] > 1 || shared.contains(item.symbol))
        names[item.symbol] = item.symbol + "$" + std::to_string(number);
    }
    for (const Item& item : unit.items) {
      if (item.linkage == Linkage::kExtern && !shared.contains(item.symbol)) {
        // Shared memory whose size the launch gives is declared so, and defined nowhere.
        if (item.text.find(".shared") != std::string::npos) {
          if (external.insert(item.symbol).second) heads += item.text + "\n";
          continue;
        }
        // So is what every text may call without bringing it along.
        if (item.symbol == "vprintf" || item.symbol == "malloc" || item.symbol == "free" ||
            item.symbol == "__assertfail") {
          if (external.insert(item.symbol).second) heads += item.text + "\n";
          continue;
        }
        *error = "the symbol " + item.symbol + ", which " + unit.input->name + " uses, is defined nowhere";
        return false;
      }
      const bool is_shared = item.linkage != Linkage::kLocal && !item.symbol.empty();
      const bool is_function = item.text.find(".func") != std::string::npos;
      if (item.linkage == Linkage::kExtern && !is_function) continue;  // the definition stands for it
      if (is_shared && item.linkage != Linkage::kExtern && shared[item.symbol] != &item &&
          (item.has_body || !is_function))
        continue;
      std::string text = rename(item.text, names);
      // A declaration before the definition is of the same symbol in one text.
      if (item.linkage == Linkage::kExtern) {
        const bool is_weak = shared[item.symbol]->linkage == Linkage::kWeak;
        text.replace(text.find(".extern"), 7, is_weak ? ".weak" : ".visible");
      }
      (item.has_body ? bodies : heads) += text + "\n";
    }
  }
  *out = version + "\n" + target + "\n.address_size 64\n" + heads + bodies;
  return true;
}

}  // namespace sluice::softgpu
