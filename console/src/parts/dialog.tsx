import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { say } from "./action.tsx";
import { Failure } from "./layout.tsx";

/**
 * A dialog above the page. The browser keeps the focus in it; afterwards it is where it was, or at the page's heading.
 */
export function Dialog({
  title,
  onClose,
  closesByKey = true,
  children,
}: {
  title: string;
  onClose: () => void;
  /** False: Escape does not close it. Default: it does. */
  closesByKey?: boolean;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () =>
      requestAnimationFrame(() => {
        if (document.activeElement !== document.body || opener === document.body) return;
        const back = opener?.isConnected ? opener : document.querySelector("h1");
        if (back instanceof HTMLElement) back.focus();
      });
  }, []);
  useEffect(() => {
    // The focused control may have gone with a change of the content.
    const focused = document.activeElement;
    if (focused === dialog.current || focused === document.body) heading.current?.focus();
  });
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        if (!closesByKey) event.preventDefault();
      }}
      // Chromium lets a second Escape close any dialog.
      onClose={() => (closesByKey ? onClose() : dialog.current?.showModal())}
    >
      <h2 ref={heading} id={id} tabIndex={-1}>
        {title}
      </h2>
      {children}
    </dialog>
  );
}

/** A form in a dialog. It stays open with the API's error, and closes when `run` has ended. */
export function FormDialog({
  title,
  action,
  danger,
  disabled,
  onClose,
  run,
  children,
}: {
  title: string;
  /** Text of the button. */
  action: string;
  danger?: boolean;
  disabled?: boolean;
  onClose: () => void;
  run: () => Promise<unknown>;
  children: ComponentChildren;
}) {
  const busy = useSignal(false);
  const error = useSignal<Error | undefined>(undefined);
  const isOpen = useRef(true);
  useEffect(
    () => () => {
      isOpen.current = false;
    },
    [],
  );
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy.value) return;
    busy.value = true;
    error.value = undefined;
    try {
      await run();
      if (isOpen.current) onClose();
    } catch (thrown) {
      error.value = thrown as Error;
      // Escape closes the dialog while it waits for the answer.
      if (!isOpen.current) say(`${title}: ${error.value.message}`, true);
    }
    busy.value = false;
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        {error.value !== undefined && <Failure error={error.value} />}
        <div class="dialog-actions">
          <span class="muted" role="status">
            {busy.value && "Working …"}
          </span>
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" class={danger ? "danger" : "primary"} disabled={disabled || busy.value}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
