// Why a function is not carried. A reason says either what keeps it from working
// on a GPU of another machine, or what has to be carried first.

export const OLD_ADDRESSES =
  'device addresses have 64 bits, this form gives them 32; the one with the suffix _v2 replaced it in CUDA 3.2';
export const GRAPHICS =
  'the display, the graphics context and the video decoder are on the client machine, the GPU is not';
export const OTHER_MACHINE = 'the handle is valid only on the machine that made it';
export const FABRIC = 'memory shared by several drivers belongs to the machines of one fabric';
export const DRIVER_PROCESS = 'acts on the process that holds the GPU, which is not the calling one';
export const WINDOWS = 'exists for Windows only';
export const RDMA = 'flushes writes that devices of the same machine made';
export const MULTI_DEVICE = 'removed from CUDA 13; one launch spans devices of one machine only';
export const SPARSE =
  'arrays whose memory is mapped later are not carried yet; cuDeviceGetAttribute says that there are none';
export const SEMAPHORES =
  'external semaphores belong to another driver on the machine of the program, which the GPU cannot reach';
export const MANAGED_LIBRARY =
  'managed variables of libraries lie in pages that the client cannot have at the same addresses yet';
export const POOLS13 = 'pools by location are not carried yet; cuDeviceGetMemPool answers for devices';
export const GREEN =
  'sets multiprocessors aside for one program, on a GPU whose multiprocessors the pool shares among several';
export const NEWER = 'newer than the interface that the workers speak';
