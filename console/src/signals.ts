import { type Signal, useSignal } from "@preact/signals";

/** Sets a signal, as the handler of an event. */
export const setting =
  <T>(signal: Signal<T>, value: T) =>
  (): void => {
    signal.value = value;
  };

/** Takes over the text of a field, as the handler of its event. */
export const typing =
  (signal: Signal<string>) =>
  ({ currentTarget }: { currentTarget: { value: string } }): void => {
    signal.value = currentTarget.value;
  };

/** Takes over whether details are open, as the handler of their event. */
export const toggling =
  (signal: Signal<boolean>) =>
  ({ currentTarget }: { currentTarget: { open: boolean } }): void => {
    signal.value = currentTarget.open;
  };

/** The dialog that a page shows, with its row. */
export interface Shown<T> {
  /** Undefined: no dialog is open. */
  value: T | undefined;
  show: (value: T) => void;
  close: () => void;
}

/** @param afterClose Called after each dialog, which may have changed what the page shows. */
export function useShown<T>(afterClose?: () => void): Shown<T> {
  const shown = useSignal<T | undefined>(undefined);
  return {
    value: shown.value,
    show: (value) => {
      shown.value = value;
    },
    close: () => {
      shown.value = undefined;
      afterClose?.();
    },
  };
}
