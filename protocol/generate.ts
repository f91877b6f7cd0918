// Writes everything that follows from the spec: `npm run generate`.
// With --check nothing is written; stale output fails and the command to run is printed.
import { spec } from './spec/index.js';
import { readIds } from './generator/ids.js';
import { checkSpec, coverageOf } from './generator/checkSpec.js';
import { callIds } from './generator/callIds.js';
import { cudaFunctions } from './generator/cudaFunctions.js';
import { driverTable } from './generator/driverTable.js';
import { clientCalls } from './generator/clientCalls.js';
import { clientStubs } from './generator/clientStubs.js';
import { clientExports } from './generator/clientExports.js';
import { procTable } from './generator/procTable.js';
import { workerDispatch } from './generator/workerDispatch.js';
import { serverModule } from './generator/serverModule.js';
import { staleFiles, writeFiles } from './generator/output.js';

const ids = readIds();
checkSpec(spec, ids);

const files = [
  ...callIds(spec, ids),
  ...cudaFunctions(spec),
  ...driverTable(spec),
  ...clientCalls(spec),
  ...clientStubs(spec),
  ...clientExports(spec),
  ...procTable(spec),
  ...workerDispatch(spec),
  ...serverModule(spec, ids),
];

if (process.argv.includes('--check')) {
  const stale = staleFiles(files);
  if (stale.length > 0) {
    console.error(`Generated files do not match protocol/: ${stale.join(', ')}.\nRun: npm run generate`);
    process.exitCode = 1;
  }
} else {
  const written = writeFiles(files);
  const { carried, unsupported, total, byClass } = coverageOf(spec);
  console.log(
    `${total} driver functions: ${carried} carried (${byClass.local} local, ${byClass.async} async, ${byClass.sync} sync), ` +
      `${unsupported} unsupported. ${written.length} of ${files.length} generated files changed.`,
  );
}
