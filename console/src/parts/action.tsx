import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { mayChange } from "../session.ts";
import { setting } from "../signals.ts";

/** The last thing done, or the reason why it was not, for the line that screen readers hear. */
export const said = signal<{ text: string; isError: boolean } | undefined>(undefined);

/** Time for which a success is shown, in milliseconds. An error stays until the reader dismisses it. */
const shownMs = 8_000;

/** Says that something was done, or why it was not. */
export function say(text: string, isError = false): void {
  const saying = { text, isError };
  said.value = saying;
  if (isError) return;
  setTimeout(() => {
    if (said.value === saying) said.value = undefined;
  }, shownMs);
}

/**
 * Time after a success in which a button takes no further click, in milliseconds: until the page shows what has
 * changed.
 */
const restMs = 500;

/** Waits so long that the second click of a double click finds the button busy. */
export const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, restMs));

/**
 * A button that calls the API. It takes no click while it waits for the answer, and no second one of a double click. An
 * error is said. Viewers do not see it.
 */
export function Action({
  run,
  done,
  danger,
  primary,
  children,
}: {
  run: () => Promise<unknown>;
  /** Text to say afterwards. Default: none. */
  done?: string;
  danger?: boolean;
  primary?: boolean;
  children: ComponentChildren;
}) {
  const busy = useSignal(false);
  if (!mayChange()) return null;
  const click = async ({ detail }: MouseEvent) => {
    if (busy.value || detail > 1) return;
    busy.value = true;
    try {
      await run();
      if (done !== undefined) say(done);
      await rest();
    } catch (error) {
      say((error as Error).message, true);
    }
    busy.value = false;
  };
  return (
    <button
      type="button"
      class={danger ? "danger" : primary ? "primary" : undefined}
      aria-disabled={busy.value}
      onClick={click}
    >
      {children}
    </button>
  );
}

/** A button that asks before a change, in a dialog. Viewers do not see it. */
export const Ask = ({
  danger,
  primary,
  children,
  ...more
}: {
  danger?: boolean;
  primary?: boolean;
  disabled?: boolean;
  onClick: () => void;
  children: ComponentChildren;
}) =>
  mayChange() ? (
    <button type="button" class={danger ? "danger" : primary ? "primary" : undefined} {...more}>
      {children}
    </button>
  ) : null;

/** The line of what was said last. */
export function Said() {
  const last = said.value;
  return (
    <div class="said" role="status" aria-live="polite">
      {last !== undefined && (
        <p class={last.isError ? "failure" : "success"}>
          <span>{last.text}</span>
          <button type="button" class="quiet" aria-label="Dismiss" onClick={setting(said, undefined)}>
            ✕
          </button>
        </p>
      )}
    </div>
  );
}
