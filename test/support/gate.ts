/** A promise that a test resolves, for handlers that must wait. */
export function gate<T = void>() {
  let open: (value: T) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const opened = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { opened, open: (value: T) => open(value), fail: (error: unknown) => fail(error) };
}
