// The whole spec, in the order in which generated files list it.
import { driver } from './rows/driver.js';
import { device } from './rows/device.js';
import { context } from './rows/context.js';
import { moduleRows } from './rows/module.js';
import { library } from './rows/library.js';
import { functionRows } from './rows/function.js';
import { memory } from './rows/memory.js';
import { pool } from './rows/pool.js';
import { copy } from './rows/copy.js';
import { memset } from './rows/memset.js';
import { stream } from './rows/stream.js';
import { streamMemory } from './rows/streamMemory.js';
import { event } from './rows/event.js';
import { launch } from './rows/launch.js';
import { oldLaunch } from './rows/oldLaunch.js';
import { graph } from './rows/graph.js';
import { array } from './rows/array.js';
import { tensorMap } from './rows/tensorMap.js';
import { texture, textureReference } from './rows/texture.js';
import { linker } from './rows/linker.js';
import { managed } from './rows/managed.js';
import { virtualMemory } from './rows/virtualMemory.js';
import { greenContext } from './rows/greenContext.js';
import { interop } from './rows/interop.js';
import { sharing } from './rows/sharing.js';
import { tools } from './rows/tools.js';
import type { Row } from './builders.js';

export const spec: Row[] = [
  ...driver,
  ...device,
  ...context,
  ...moduleRows,
  ...library,
  ...functionRows,
  ...memory,
  ...pool,
  ...copy,
  ...memset,
  ...stream,
  ...streamMemory,
  ...event,
  ...launch,
  ...oldLaunch,
  ...graph,
  ...array,
  ...texture,
  ...textureReference,
  ...tensorMap,
  ...linker,
  ...managed,
  ...virtualMemory,
  ...greenContext,
  ...interop,
  ...sharing,
  ...tools,
];
