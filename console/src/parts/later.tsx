import { signal, useSignal } from "@preact/signals";
import type { ComponentType, FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import { Failure, Loading, Page } from "./layout.tsx";

/** A part of a page whose code is loaded ahead, or when it is first shown. */
export interface Beside<Props> extends FunctionComponent<Props> {
  /** Loads the code, so that showing the part later takes no time. */
  load: () => Promise<void>;
}

/**
 * A part of a page whose code is loaded when it is first shown. It is not there until then, nor when that fails.
 * Each later time it is there at once.
 */
export function beside<Props extends object>(load: () => Promise<ComponentType<Props>>): Beside<Props> {
  const part = signal<ComponentType<Props> | undefined>(undefined);
  const loadOnce = async () => {
    if (part.value !== undefined) return;
    const Part = await load().catch(() => undefined);
    if (Part !== undefined) part.value = Part;
  };
  function Beside(props: Props) {
    useEffect(() => void loadOnce(), []);
    const Part = part.value;
    return Part === undefined ? null : <Part {...props} />;
  }
  return Object.assign(Beside, { load: loadOnce });
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
