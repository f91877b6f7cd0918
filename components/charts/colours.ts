// Eight hues that stay apart for colour-blind viewers in both themes; their values are in app/globals.css.
const HUES = 8;

/**
 * A colour for each id, as a CSS value. The order of ids decides, so one id keeps its colour on a page as
 * long as the caller passes the same list.
 */
export function assignColours(ids: readonly string[]): Map<string, string> {
  return new Map(ids.map((id, index) => [id, `var(--chart-${(index % HUES) + 1})`]));
}

/** For what stands for several ("others"). */
export const NEUTRAL_COLOUR = `var(--chart-${HUES})`;
