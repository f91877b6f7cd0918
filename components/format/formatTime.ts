const SECOND_MS = 1000;
const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;

const two = (value: number) => String(value).padStart(2, '0');

/** A span in its two largest units: "4 s", "2 m 04 s", "3 h 20 m", "2 d 05 h". Negative spans count as 0. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / SECOND_MS));
  if (seconds < MINUTE_S) return `${seconds} s`;
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)} m ${two(seconds % MINUTE_S)} s`;
  if (seconds < DAY_S)
    return `${Math.floor(seconds / HOUR_S)} h ${two(Math.floor((seconds % HOUR_S) / MINUTE_S))} m`;
  return `${Math.floor(seconds / DAY_S)} d ${two(Math.floor((seconds % DAY_S) / HOUR_S))} h`;
}

/** Time of day in the viewer's zone, 24 hours: "12:31:07". */
export function formatClock(atMs: number): string {
  const at = new Date(atMs);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** Date and time in the viewer's zone: "2026-11-30 12:31:07". */
export function formatDateTime(atMs: number): string {
  const at = new Date(atMs);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${formatClock(atMs)}`;
}
