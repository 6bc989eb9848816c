import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** An answer of the API as a page shows it. */
export interface Loaded<T> {
  /** Undefined until the first answer. A later error leaves the last answer here. */
  value: T | undefined;
  /** Undefined: the last request succeeded. */
  error: Error | undefined;
  loading: boolean;
  /** Reads again. */
  reload: () => void;
}

export interface LoadOptions {
  /** Reads again after this time in milliseconds, while the tab is visible. Default: never. */
  everyMs?: number | undefined;
}

/**
 * Reads from the API when the component appears and when `key` changes. An answer that comes after the key has changed
 * is dropped.
 * @param key Everything that `read` depends on, as a text.
 */
export function useLoad<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  { everyMs }: LoadOptions = {},
): Loaded<T> {
  const state = useSignal<{ key: string; value?: T; error?: Error; loading: boolean }>({ key, loading: true });
  const current = useRef(read);
  current.current = read;
  const reload = useRef(() => {});
  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      clearTimeout(timer);
      try {
        const value = await current.current(ended.signal);
        if (!ended.signal.aborted) state.value = { key, value, loading: false };
      } catch (error) {
        if (!ended.signal.aborted) state.value = { ...kept(state.value, key), error: error as Error, loading: false };
      }
      if (everyMs !== undefined && !ended.signal.aborted) timer = setTimeout(tick, everyMs);
    };
    const tick = () => (document.hidden ? document.addEventListener("visibilitychange", load, once) : load());
    const once = { once: true, signal: ended.signal };
    reload.current = () => {
      state.value = { ...state.value, loading: true };
      void load();
    };
    state.value = { ...kept(state.value, key), loading: true };
    void load();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [key, everyMs]);
  const { value, error, loading, key: of } = state.value;
  const isOfKey = of === key;
  return {
    value: isOfKey ? value : undefined,
    error: isOfKey ? error : undefined,
    loading: loading || !isOfKey,
    reload: () => reload.current(),
  };
}

/** The last answer, if it is of the same key. */
const kept = <T>(state: { key: string; value?: T }, key: string): { key: string; value?: T } =>
  state.key === key && state.value !== undefined ? { key, value: state.value } : { key };
