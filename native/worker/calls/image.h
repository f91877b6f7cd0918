// Images that clients load: receiving, keeping and describing them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "worker/calls/session.h"

namespace sluice::worker {

// A load request as the client's image_load.cc writes it.
struct ImageRequest {
  uint32_t index = 0;
  std::vector<uint8_t> image;  // with a zero byte after it
  std::vector<CUjit_option> option_names;
  std::vector<void*> option_values;
  std::vector<char> info_log;
  std::vector<char> error_log;

  const void* data() const { return image.data(); }
};

// A link and the options that it was made with; its logs are written as long as it lives.
struct LinkJob {
  CUlinkState state = nullptr;
  uint32_t context = 0;
  ImageRequest options;
};

// Options as the client's jit_options.cc writes them; false when they are none.
bool read_jit_options(wire::Reader& args, ImageRequest* out);
// What the driver has written into a log.
std::string_view log_text(const std::vector<char>& log);
// Whether a fatbin container is as long as it says.
bool container_is_whole(const std::vector<uint8_t>& image);

enum class ImageStatus { ready, not_known, failed };

// Reads the request and finds the image, in the request or in the cache. `failed`: the session ends.
ImageStatus read_image_request(Session& session, Request& request, ImageRequest* out);

// The answer: logs, and on success the table of kernels that `append_table` writes.
void answer_load(Session& session, Request& request, CUresult result, ImageRequest& image, double seconds,
                 const wire::Writer& table);
void answer_not_known(Session& session, Request& request);

// Tables of kernels, in the order in which the driver lists them.
void describe_module(Session& session, CUmodule module, wire::Writer& table);
void describe_library(Session& session, CUlibrary library, wire::Writer& table);

}  // namespace sluice::worker
