// CUDA arrays and mipmapped arrays. The elements lie row after row and slice after slice without gaps in
// device memory that no address of the program names; the levels of a mipmapped array follow each other, and
// so do the planes of a video format.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "common/array_format.h"
#include "common/cuda_types.h"
#include "softgpu/handle.h"

namespace sluice::softgpu {

class Context;
class Mipmap;
struct Device;

// Device memory of one array or one mipmapped array; given back with the last of those that it holds.
class ArrayStorage {
 public:
  static CUresult allocate(Context& context, uint64_t bytes, std::unique_ptr<ArrayStorage>* out);
  ~ArrayStorage();
  uint64_t address() const { return address_; }

 private:
  explicit ArrayStorage(uint64_t address) : address_(address) {}
  uint64_t address_;
};

class Array {
 public:
  static constexpr HandleKind kKind = HandleKind::kArray;

  // At that address, inside the storage of whatever it is a part of.
  Array(Context& owner, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, uint64_t address);
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  CUarray handle() const { return static_cast<CUarray>(handle_); }
  // The array of one plane, the same for each call; null for one that it does not have.
  Array* plane(unsigned index);
  // Stands alone: neither a level nor a plane, and so the caller's to destroy.
  bool stands_alone() const { return storage != nullptr; }
  // Elements can be copied and read: not so with several planes, whose arrays are to be used instead.
  bool has_elements() const { return element.bytes != 0; }
  size_t pitch() const { return extent.row_bytes; }
  size_t slice() const { return extent.row_bytes * extent.rows; }

  Context& context;
  const CUDA_ARRAY3D_DESCRIPTOR descriptor;
  const ElementLayout element;  // bytes 0 with several planes
  const ArrayExtent extent;
  const uint64_t address;
  std::unique_ptr<ArrayStorage> storage;  // null for a part of something else

 private:
  void* handle_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Array>> planes_;
};

class Mipmap {
 public:
  static constexpr HandleKind kKind = HandleKind::kMipmap;

  Mipmap(Context& owner, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels,
         std::unique_ptr<ArrayStorage> memory);
  ~Mipmap();
  Mipmap(const Mipmap&) = delete;
  Mipmap& operator=(const Mipmap&) = delete;

  CUmipmappedArray handle() const { return static_cast<CUmipmappedArray>(handle_); }

  Context& context;
  const CUDA_ARRAY3D_DESCRIPTOR descriptor;
  const std::unique_ptr<ArrayStorage> storage;
  std::vector<std::unique_ptr<Array>> levels;

 private:
  void* handle_;
};

// The arrays that a context owns; they die with it.
struct ArrayObjects {
  std::mutex mutex;
  std::unordered_map<Array*, std::unique_ptr<Array>> arrays;
  std::unordered_map<Mipmap*, std::unique_ptr<Mipmap>> mipmaps;
};

// INVALID_VALUE for what the reference manual's tables of extents and flags rule out on the device;
// NOT_SUPPORTED for flags that the device says it does not have.
CUresult check_descriptor(const Device& device, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, bool mipmapped);

// OUT_OF_MEMORY as for cuMemAlloc: the elements count against the device's memory.
CUresult create_array(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, Array** out);
CUresult create_mipmap(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels,
                       Mipmap** out);
// Wait for the context's work first.
void destroy(Array& array);
void destroy(Mipmap& mipmap);

}  // namespace sluice::softgpu
