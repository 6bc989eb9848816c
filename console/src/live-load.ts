import { useEffect } from "preact/hooks";
import { onMessage } from "./live.ts";
import { type Loaded, type LoadOptions, useLoad } from "./load.ts";

export interface LiveOptions extends LoadOptions {
  /** Shortest time between two reads because of messages, in milliseconds. Default: one second. */
  leastMs?: number;
}

/** As `useLoad`, and reads again soon after each message of the channel. */
export function useLive<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  { everyMs = 10_000, leastMs = 1_000 }: LiveOptions = {},
): Loaded<T> {
  const loaded = useLoad(key, read, { everyMs });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lastMs = Date.now();
    const again = () => {
      timer = undefined;
      lastMs = Date.now();
      if (!document.hidden) loaded.reload();
    };
    const stop = onMessage(() => {
      timer ??= setTimeout(again, Math.max(50, leastMs - (Date.now() - lastMs)));
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [key]);
  return loaded;
}
