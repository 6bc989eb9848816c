/**
 * Calls `work` for all items, up to `lanes` at the same time. Takes the next item only when a lane is free. Returns the
 * results in the order of the items. When `work` throws, the other lanes end after their present items, and the first
 * error is thrown.
 */
export async function inLanes<T, R>(items: Iterable<T>, lanes: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const rest = items[Symbol.iterator]();
  let index = 0;
  let failed = false;
  const lane = async () => {
    while (!failed) {
      const { done, value } = rest.next();
      if (done) return;
      const place = index++;
      try {
        results[place] = await work(value);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
