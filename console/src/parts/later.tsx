import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { Failure, Loading, Page } from "./layout.tsx";

/** A page whose code is loaded when it is opened. @param title Heading until then. */
export function later<Props extends object>(
  title: string,
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
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
    if (Component !== undefined) return <Component {...props} />;
    return <Page title={title}>{error === undefined ? <Loading /> : <Failure error={error} />}</Page>;
  };
}
