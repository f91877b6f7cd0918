// Writes everything that follows from the spec: `npm run generate`.
// With --check nothing is written; stale output fails and the command to run is printed.
import { coverageOf } from './generator/checkSpec.js';
import { generateAll } from './generator/generateAll.js';
import { staleFiles, writeFiles } from './generator/output.js';
import { spec } from './spec/index.js';

const files = generateAll();

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
