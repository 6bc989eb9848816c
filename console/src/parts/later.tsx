import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { Failure } from "./layout.tsx";

/** A page whose code is loaded when it is opened. */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  return function Later(props: Props) {
    const loaded = useSignal<{ page?: ComponentType<Props>; error?: Error }>({});
    useEffect(() => {
      load().then(
        (page) => {
          loaded.value = { page };
        },
        () => {
          // After a deployment the code of the earlier version is gone.
          loaded.value = { error: new Error("The page could not be loaded. Reload the console.") };
        },
      );
    }, []);
    const { page: Component, error } = loaded.value;
    if (error !== undefined) return <Failure error={error} />;
    return Component === undefined ? <p role="status">Loading …</p> : <Component {...props} />;
  };
}
