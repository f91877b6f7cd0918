/** Waits until something is so, looking again after every turn of the event loop; the test's time-out ends it. */
export async function eventually<Value>(
  look: () => Promise<Value> | Value,
  isSo: (value: Value) => boolean,
): Promise<Value> {
  for (;;) {
    const value = await look();
    if (isSo(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
