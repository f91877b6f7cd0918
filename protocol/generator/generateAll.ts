import { spec } from '../spec/index.js';
import { callIds } from './callIds.js';
import { checkSpec } from './checkSpec.js';
import { clientCalls } from './clientCalls.js';
import { clientExports } from './clientExports.js';
import { clientStubs } from './clientStubs.js';
import { cudaFunctions } from './cudaFunctions.js';
import { driverTable } from './driverTable.js';
import { readIds } from './ids.js';
import { noopDriver } from './noopDriver.js';
import type { GeneratedFile } from './output.js';
import { procTable } from './procTable.js';
import { serverModule } from './serverModule.js';
import { workerDispatch } from './workerDispatch.js';

/** Everything that follows from the spec; throws when the spec is inconsistent. */
export function generateAll(): GeneratedFile[] {
  const ids = readIds();
  checkSpec(spec, ids);
  return [
    ...callIds(spec, ids),
    ...cudaFunctions(spec),
    ...driverTable(spec),
    ...clientCalls(spec),
    ...clientStubs(spec),
    ...clientExports(spec),
    ...procTable(spec),
    ...workerDispatch(spec),
    ...noopDriver(spec),
    ...serverModule(spec, ids),
  ];
}
