/** The span that live charts show, and for which samples are kept in the browser. */
export const LIVE_WINDOW_SECONDS = 300;
