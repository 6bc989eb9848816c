import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Failure } from "./layout.tsx";

/** A dialog above the page, which Escape closes. The browser keeps the focus in it, and gives it back. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
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
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy.value) return;
    busy.value = true;
    error.value = undefined;
    try {
      await run();
      onClose();
    } catch (thrown) {
      error.value = thrown as Error;
    }
    busy.value = false;
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        {error.value !== undefined && <Failure error={error.value} />}
        <div class="dialog-actions">
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
