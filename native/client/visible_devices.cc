#include "client/visible_devices.h"

#include <algorithm>
#include <charconv>

namespace sluice::client {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<size_t> place_of(std::string_view entry, const std::vector<std::string>& uuids) {
  if (entry.starts_with("GPU-")) {
    std::optional<size_t> found;
    for (size_t i = 0; i < uuids.size(); i++) {
      if (!uuids[i].starts_with(entry)) continue;
      if (found) return std::nullopt;
      found = i;
    }
    return found;
  }
  size_t index = 0;
  const auto parsed = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  const bool whole = parsed.ec == std::errc{} && parsed.ptr == entry.data() + entry.size();
  return whole && index < uuids.size() ? std::optional(index) : std::nullopt;
}

}  // namespace

std::vector<size_t> visible_devices(const std::optional<std::string>& text,
                                    const std::vector<std::string>& uuids) {
  std::vector<size_t> places;
  if (!text) {
    for (size_t i = 0; i < uuids.size(); i++) places.push_back(i);
    return places;
  }
  std::string_view rest = *text;
  for (;;) {
    const size_t comma = rest.find(',');
    const auto place = place_of(trimmed(rest.substr(0, comma)), uuids);
    if (!place || std::find(places.begin(), places.end(), *place) != places.end()) return places;
    places.push_back(*place);
    if (comma == std::string_view::npos) return places;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace sluice::client
