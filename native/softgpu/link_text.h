// Linking PTX: several texts made into one, with the symbols of each seen by the others as their linkage
// says.
#pragma once

#include <string>
#include <vector>

namespace sluice::softgpu {

struct LinkInput {
  std::string name;  // for messages
  std::string text;
};

// One text of all: the newest version and target at its head, one definition of each symbol that is visible
// or weak, those that only one text sees under names of their own. False with a sentence in *error when a
// symbol is defined twice or nowhere.
bool link_text(const std::vector<LinkInput>& inputs, std::string* out, std::string* error);

}  // namespace sluice::softgpu
