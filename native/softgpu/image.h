// Reading what programs hand to cuModuleLoadData and cuLibraryLoadData: PTX text, fatbin wrappers and
// containers, ELF. Layouts: facts measured on what nvcc writes, names as published by ZLUDA
// (dark_api/src/fatbin.rs).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/cuda_types.h"

namespace sluice::softgpu {

struct PtxImage {
  int sm = 0;   // e.g. 90
  int isa = 0;  // major * 10 + minor of the PTX version
  std::string text;
};

struct Images {
  std::vector<PtxImage> ptx;
  bool has_elf = false;
};

// image points to any of the known forms; nothing but its own headers says how long it is.
// INVALID_IMAGE with a sentence for the log when it is none of them or is damaged.
CUresult read_image(const void* image, Images* out, std::string* why);

// One container (header and entries) inside the given bytes. Never reads beyond them.
CUresult read_container(std::span<const std::byte> bytes, Images* out, std::string* why);

// The entries that a device of this compute capability may run, the newest first.
// NO_BINARY_FOR_GPU when there is none.
CUresult select_images(const Images& images, int cc, std::vector<const PtxImage*>* out);

// The number in ".target sm_90a", 0 when there is none.
int ptx_target(const std::string& text);

}  // namespace sluice::softgpu
