import { lazily } from "../util/lazily.ts";

/**
 * A port whose code loads with its first call. All of its methods are asynchronous.
 * @param open Makes the port, once.
 */
export function lazyPort<Port extends object>(open: () => Promise<Port>): Port {
  const opened = lazily(open);
  const get =
    (_: object, method: string | symbol) =>
    async (...given: unknown[]) => {
      const port = await opened();
      return (Reflect.get(port, method) as (...given: unknown[]) => unknown).apply(port, given);
    };
  return new Proxy({}, { get }) as Port;
}
