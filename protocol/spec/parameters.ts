// Parameters of a row, written as in `dptr: out deviceptr, bytesize: size`.
//
//   <type>          a value
//   out <type>      the caller gives the address of one value to be written
//   in <type>       the caller gives the address of one value to be read
//   inout <type>    both
//   new <handle>    an out handle that the client mints
//   free <handle>   a handle that is dead after the call
//   reads <C type>  memory read during the call; `[n]` after it gives the count
//   writes <C type> memory written during the call
//   keeps <C type>  memory that stays in use after the call has returned

export type Direction = 'value' | 'out' | 'in' | 'inout' | 'new' | 'free' | 'reads' | 'writes' | 'keeps';

export interface Parameter {
  name: string;
  direction: Direction;
  /** Name of the type in the notation; a C type for memory. */
  type: string;
  /** Declaration type in C. */
  cType: string;
  /** Number of elements or bytes behind the pointer, or null for one. */
  length: string | null;
}

/** Scalars by their name in the notation: the C type. */
export const scalars: Readonly<Record<string, string>> = {
  int: 'int',
  uint: 'unsigned int',
  uchar: 'unsigned char',
  ushort: 'unsigned short',
  u64: 'unsigned long long',
  size: 'size_t',
  float: 'float',
  deviceptr: 'CUdeviceptr',
  device: 'CUdevice',
};

/** Handles by their name in the notation: the C type. */
export const handles: Readonly<Record<string, string>> = {
  context: 'CUcontext',
  module: 'CUmodule',
  function: 'CUfunction',
  library: 'CUlibrary',
  kernel: 'CUkernel',
  stream: 'CUstream',
  event: 'CUevent',
  pool: 'CUmemoryPool',
  array: 'CUarray',
  mipmap: 'CUmipmappedArray',
  texref: 'CUtexref',
  surfref: 'CUsurfref',
};

const directions: readonly Direction[] = ['out', 'in', 'inout', 'new', 'free', 'reads', 'writes', 'keeps'];

function valueType(symbol: string, type: string): string {
  const known = scalars[type] ?? handles[type];
  if (known !== undefined) return known;
  if (/^CU[A-Za-z_0-9]+$/.test(type)) return type;
  throw new Error(`${symbol}: unknown type "${type}"`);
}

function parseParameter(symbol: string, text: string): Parameter {
  const match = /^(\w+): (?:(\w+) )?(.+?)(?:\[(\w+)\])?$/.exec(text.trim());
  if (!match) throw new Error(`${symbol}: cannot read the parameter "${text}"`);
  const name = match[1] ?? '';
  const type = match[3] ?? '';
  const length = match[4] ?? null;
  const word = match[2];
  if (word === undefined) return { name, direction: 'value', type, cType: valueType(symbol, type), length };
  const direction = directions.find((candidate) => candidate === word);
  if (!direction) throw new Error(`${symbol}: unknown direction "${word}" of ${name}`);
  switch (direction) {
    case 'reads':
    case 'writes':
    case 'keeps':
      return { name, direction, type, cType: type, length };
    case 'new':
    case 'free': {
      const cType = handles[type];
      if (cType === undefined) throw new Error(`${symbol}: "${type}" of ${name} is no handle`);
      return { name, direction, type, cType: direction === 'new' ? `${cType}*` : cType, length };
    }
    case 'in':
      return { name, direction, type, cType: `const ${valueType(symbol, type)}*`, length };
    default:
      return { name, direction, type, cType: `${valueType(symbol, type)}*`, length };
  }
}

/** Reads the parameter list of a row; throws with the symbol's name on a typing error. */
export function parseParameters(symbol: string, text: string): Parameter[] {
  return text === '' ? [] : text.split(',').map((part) => parseParameter(symbol, part));
}
