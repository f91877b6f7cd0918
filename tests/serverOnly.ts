// What the marker package `server-only` is in tests: nothing.
export {};
