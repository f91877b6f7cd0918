import { readFileSync } from 'node:fs';

/** File of the stable ids, relative to this one. */
const idsFile = new URL('../ids.txt', import.meta.url);

/** Wire id of each symbol: its place among the entries of ids.txt, counted from 1. */
export function readIds(): Map<string, number> {
  const symbols = readFileSync(idsFile, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const ids = new Map<string, number>();
  symbols.forEach((symbol, index) => {
    if (ids.has(symbol)) throw new Error(`ids.txt lists ${symbol} twice`);
    ids.set(symbol, index + 1);
  });
  return ids;
}
