// Functions: attributes, parameter layouts and occupancy.
import { asyncCall, local, sync, rows } from '../builders.js';

export const functionRows = rows('function', [
  local('cuFuncGetAttribute', 2020, 'pi: out int, attrib: CUfunction_attribute, hfunc: function'),
  asyncCall('cuFuncSetAttribute', 9000, 'hfunc: function, attrib: CUfunction_attribute, value: int', {
    client: 'remembered for cuFuncGetAttribute; occupancy answers of the function are dropped',
  }),
  asyncCall('cuFuncSetCacheConfig', 3000, 'hfunc: function, config: CUfunc_cache'),
  asyncCall('cuFuncSetSharedMemConfig', 4020, 'hfunc: function, config: CUsharedconfig'),
  local('cuFuncGetModule', 11000, 'hmod: out module, hfunc: function'),
  local('cuFuncGetName', 12030, 'name: writes const char**, hfunc: function'),
  local(
    'cuFuncGetParamInfo',
    12040,
    'func: function, paramIndex: size, paramOffset: out size, paramSize: out size',
  ),
  local('cuFuncGetParamCount', 13020, 'func: function, paramCount: out size'),
  local('cuFuncIsLoaded', 12040, 'state: out CUfunctionLoadingState, function: function'),
  asyncCall('cuFuncLoad', 12040, 'function: function'),
  sync(
    'cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags',
    7000,
    'numBlocks: out int, func: function, blockSize: int, dynamicSMemSize: size, flags: uint',
    { client: 'answers are remembered per function and shape' },
  ),
  local(
    'cuOccupancyMaxActiveBlocksPerMultiprocessor',
    6050,
    'numBlocks: out int, func: function, blockSize: int, dynamicSMemSize: size',
  ),
  local(
    'cuOccupancyMaxPotentialBlockSizeWithFlags',
    7000,
    'minGridSize: out int, blockSize: out int, func: function, blockSizeToDynamicSMemSize: reads CUoccupancyB2DSize, dynamicSMemSize: size, blockSizeLimit: int, flags: uint',
  ),
  local(
    'cuOccupancyMaxPotentialBlockSize',
    6050,
    'minGridSize: out int, blockSize: out int, func: function, blockSizeToDynamicSMemSize: reads CUoccupancyB2DSize, dynamicSMemSize: size, blockSizeLimit: int',
  ),
  sync(
    'cuOccupancyAvailableDynamicSMemPerBlock',
    10020,
    'dynamicSmemSize: out size, func: function, numBlocks: int, blockSize: int',
  ),
  sync(
    'cuOccupancyMaxActiveClusters',
    11070,
    'numClusters: out int, func: function, config: in CUlaunchConfig',
    {
      client: 'answers are remembered per function and shape',
      worker: 'the configuration is rebuilt',
    },
  ),
  sync(
    'cuOccupancyMaxPotentialClusterSize',
    11070,
    'clusterSize: out int, func: function, config: in CUlaunchConfig',
    {
      client: 'answers are remembered per function and shape',
      worker: 'the configuration is rebuilt',
    },
  ),
]);
