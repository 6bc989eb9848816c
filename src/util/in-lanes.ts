/**
 * Calls `work` for all items, up to `lanes` at the same time. Takes the next item only when a lane is free. Returns the
 * results in the order of the items. When `work` throws, the other lanes end after their present items, and then the
 * first error is thrown.
 */
export async function inLanes<T, R>(items: Iterable<T>, lanes: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const rest = items[Symbol.iterator]();
  let index = 0;
  let failure: { error: unknown } | undefined;
  const lane = async () => {
    while (failure === undefined) {
      const { done, value } = rest.next();
      if (done) return;
      const place = index++;
      try {
        results[place] = await work(value);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  if (failure !== undefined) throw failure.error;
  return results;
}
