const MIB_PER_GIB = 1024;
const BYTES_PER_MIB = 1024 * 1024;

/** MiB as a GiB figure without its unit, one decimal: 81559 → "79.6". For columns whose header names the unit. */
export function formatGib(mib: number): string {
  return (mib / MIB_PER_GIB).toFixed(1);
}

/** MiB with the unit that suits its size: "512 MiB", "79.6 GiB". */
export function formatMemory(mib: number): string {
  return mib < MIB_PER_GIB ? `${Math.round(mib)} MiB` : `${formatGib(mib)} GiB`;
}

/** Bytes with a binary unit: "0 B", "1.5 KiB", "12.0 GiB". */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export function bytesToMib(bytes: number): number {
  return bytes / BYTES_PER_MIB;
}
