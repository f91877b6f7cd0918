/** A path of this site to go to after signing in; anything that could lead elsewhere becomes the overview. */
export function safeNextPath(next: string | string[] | undefined): string {
  return typeof next === 'string' && /^\/(?![/\\])/.test(next) ? next : '/';
}
