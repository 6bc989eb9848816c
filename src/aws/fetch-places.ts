/** Marks a `fetch` that adds places. */
const marked = new WeakSet<typeof fetch>();

/**
 * Makes the global `fetch` add its callers to the stack of a network error. Node's own has only Node's frames, which do
 * not say which call of the handler failed. A call that succeeds costs nothing more.
 */
export function addPlacesToFetch(scope: { fetch: typeof fetch } = globalThis): void {
  const original = scope.fetch;
  if (marked.has(original)) return;
  const fetchWithPlaces: typeof fetch = async (...request) => {
    try {
      return await original(...request);
    } catch (error) {
      // The stack of an error that is made here has the functions that wait for this one.
      addFrames(error, new Error().stack);
      throw error;
    }
  };
  marked.add(fetchWithPlaces);
  scope.fetch = fetchWithPlaces;
}

function addFrames(error: unknown, stack: string | undefined): void {
  if (!(error instanceof Error) || Object.isFrozen(error)) return;
  const frames = stack?.split("\n").filter((line) => /^\s+at /.test(line)) ?? [];
  error.stack = [error.stack ?? String(error), ...frames].join("\n");
}
