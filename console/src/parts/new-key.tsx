import { signal } from "@preact/signals";
import { setting } from "../signals.ts";
import { Dialog } from "./dialog.tsx";

/**
 * An API key that was just created. Empty: there is none. It is not the page's, which the reader may have left before
 * the answer came.
 */
export const newKey = signal("");

/** Shows a new key, once: until the reader says that it is copied. */
export function NewKey() {
  if (newKey.value === "") return null;
  return (
    <Dialog title="The new key" closesByKey={false} onClose={() => {}}>
      <p>Copy it now: it is not shown again, and only its hash is stored.</p>
      <pre class="id">{newKey.value}</pre>
      <div class="dialog-actions">
        <button type="button" onClick={() => navigator.clipboard.writeText(newKey.value)}>
          Copy
        </button>
        <button type="button" class="primary" onClick={setting(newKey, "")}>
          I have copied it
        </button>
      </div>
    </Dialog>
  );
}
