// What a health check found; the control plane's own findings have the same shape.

export interface Finding {
  readonly id: string;
  readonly severity: 'ok' | 'warning' | 'fatal';
  readonly title: string;
  readonly detail: string;
  /** What to do about it; null when there is nothing to do. */
  readonly action: string | null;
}

/** Fatal means that programs cannot run; only that makes `sluice health` fail. */
export function isHealthy(findings: readonly Finding[]): boolean {
  return findings.every((finding) => finding.severity !== 'fatal');
}
