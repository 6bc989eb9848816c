import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { Failure, Loading, Page } from "./layout.tsx";

/** A part of a page whose code is loaded when it is shown. It is not there until then, nor when that fails. */
export function beside<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  return function Beside(props: Props) {
    const loaded = useSignal<{ part?: ComponentType<Props> }>({});
    useEffect(() => {
      load().then(
        (part) => {
          loaded.value = { part };
        },
        () => {},
      );
    }, []);
    const { part: Part } = loaded.value;
    return Part === undefined ? null : <Part {...props} />;
  };
}

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
