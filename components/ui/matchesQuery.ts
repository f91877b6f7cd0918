/** True when every word of the query is somewhere in the texts; case does not matter. */
export function matchesQuery(query: string, texts: readonly string[]): boolean {
  const haystack = texts.join(' ').toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => haystack.includes(word));
}
