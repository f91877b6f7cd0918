// Formats of arrays and of resource views as instructions need to know them.
#pragma once

#include "common/cuda_types.h"
#include "softgpu/ptx/texture.h"

namespace sluice::softgpu {

// Fills what the view says about an element; false for a format whose elements textures cannot read.
bool set_format(CUarray_format format, unsigned channels, ptx::TextureView* view);
bool set_view_format(CUresourceViewFormat format, ptx::TextureView* view);
// A view of 8 or 16 bytes as a compressed block of four by four texels.
bool is_block_view(CUresourceViewFormat format);

}  // namespace sluice::softgpu
