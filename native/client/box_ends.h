// The ends of a copy of several dimensions, checked and found.
#pragma once

#include "client/box_copy.h"
#include "wire/frame.h"

namespace sluice::client {

struct BoxEnd {
  wire::BoxEnd where = wire::BoxEnd::host;
  uint64_t address = 0;  // of the first byte, unless it is an array
  size_t pitch = 0;
  size_t rows = 1;  // from slice to slice
  Array* array = nullptr;
  size_t x = 0;  // in the array: bytes, rows, slices
  size_t y = 0;
  size_t z = 0;
  Context* owner = nullptr;  // of memory that is not the host's
  uint32_t peer = 0;         // the context that a copy between peers names
};

CUresult place_end(const Scope& scope, const BoxEndGiven& given, const BoxExtent& extent, BoxEnd* out);

// The end of a piece of the copy, and the same as the frame carries it.
BoxEnd moved(const BoxEnd& end, const BoxPiece& piece);
void put_end(wire::Writer& arguments, const BoxEnd& end, const BoxPiece& piece);

// Host memory, or any other that is addressed, as rows of the box.
HostShape host_shape(const BoxEnd& end, const BoxExtent& extent);

// Page-locked from its first to its last byte.
bool is_pinned(const Session& session, const void* start, size_t bytes);

}  // namespace sluice::client
