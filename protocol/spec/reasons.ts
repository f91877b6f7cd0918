// Why a function is not carried. A reason says either what keeps it from working
// on a GPU of another machine, or what has to be carried first.

export const OLD_ADDRESSES =
  'takes 32-bit device addresses; the form with the suffix _v2 replaced it in CUDA 3.2';
export const OLD_LAUNCH = 'belongs to the launch interface before CUDA 4, which cuLaunchKernel replaced';
export const GRAPHICS =
  'the display, the graphics context and the video decoder are on the client machine, the GPU is not';
export const OTHER_MACHINE = 'the handle is valid only on the machine that made it';
export const FABRIC = 'memory shared by several drivers belongs to the machines of one fabric';
export const DRIVER_PROCESS = 'acts on the process that holds the GPU, which is not the calling one';
export const WINDOWS = 'exists for Windows only';
export const RDMA = 'flushes writes that devices of the same machine made';
export const MULTI_DEVICE = 'removed from CUDA 13; one launch spans devices of one machine only';
export const GRAPHS = 'graphs are not carried yet';
export const CAPTURE = 'capturing makes a graph, and graphs are not carried yet';
export const ARRAYS = 'arrays, textures and surfaces are not carried yet';
export const TENSOR_MAP = 'tensor maps are not carried yet';
export const LINKER = 'the run-time linker is not carried yet';
export const MANAGED_LIBRARY =
  'managed variables of libraries lie in pages that the client cannot have at the same addresses yet';
export const POOLS13 = 'pools by location are not carried yet; cuDeviceGetMemPool answers for devices';
export const DECOMPRESS = 'decompression in batches is not carried yet';
export const MEM_OPS = 'memory operations in streams are not carried yet';
export const STREAM_ATTRIBUTES = 'stream attributes are not carried yet';
export const GREEN = 'green contexts are not carried yet';
export const AFFINITY = 'execution affinity divides the GPU by the multi-process service of one machine';
export const ATOMICS = 'host and device are on different machines, so no atomic spans them';
export const CLUSTERS = 'cluster occupancy is not carried yet';
export const NEWER = 'newer than the interface that the workers speak';
