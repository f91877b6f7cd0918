// Pieces of C++ that several generators write.
import type { Row } from '../spec/builders.js';
import { handles, scalars, type Parameter } from '../spec/parameters.js';

/** `CUdeviceptr dptr, size_t n`, or `void` for none when `empty` says so. */
export function parameterList(parameters: readonly Parameter[], extra: readonly string[] = []): string {
  return [...parameters.map((p) => `${p.cType} ${p.name}`), ...extra].join(', ');
}

/** Names only, each passed through `map`. */
export function argumentList(
  parameters: readonly Parameter[],
  map: (p: Parameter) => string = (p) => p.name,
): string[] {
  return parameters.map(map);
}

/** The stream that a ptds function acts on is passed to its body as one more parameter. */
export function bodyParameters(row: Row): string {
  return parameterList(row.parameters, row.perThread === 'ptds' ? ['CUstream stream'] : []);
}

const wireTypes: Readonly<Record<string, string>> = {
  int: 'std::int32_t',
  uint: 'std::uint32_t',
  uchar: 'std::uint8_t',
  ushort: 'std::uint16_t',
  u64: 'std::uint64_t',
  size: 'std::uint64_t',
  float: 'float',
  deviceptr: 'std::uint64_t',
  device: 'std::int32_t',
};

const wireSizes: Readonly<Record<string, number>> = {
  int: 4,
  uint: 4,
  uchar: 1,
  ushort: 2,
  u64: 8,
  size: 8,
  float: 4,
  deviceptr: 8,
  device: 4,
};

/** True for the handle types of the notation. */
export function isHandle(type: string): boolean {
  return handles[type] !== undefined;
}

/** C++ type in which a value travels; enumerations travel as 32-bit integers, handles as their index. */
export function wireType(type: string): string {
  return wireTypes[type] ?? (isHandle(type) ? 'std::uint32_t' : 'std::int32_t');
}

/** Bytes of a value on the wire. */
export function wireSize(type: string): number {
  return wireSizes[type] ?? 4;
}

/** C type of a value of that notation type. */
export function cTypeOf(type: string): string {
  return scalars[type] ?? handles[type] ?? type;
}

/** `Stream` for `stream`. */
export function capitalised(type: string): string {
  return type.charAt(0).toUpperCase() + type.slice(1);
}
