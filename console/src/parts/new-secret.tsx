import { signal } from "@preact/signals";
import { setting } from "../signals.ts";
import { Dialog } from "./dialog.tsx";

/**
 * A secret that was just made, with a title, and a sentence about it. Undefined: there is none. It is not the page's,
 * which the reader may have left before the answer came.
 */
export const newSecret = signal<{ title: string; note: string; secret: string } | undefined>(undefined);

/** Shows a new secret, once: until the reader says that it is copied. */
export function NewSecret() {
  if (newSecret.value === undefined) return null;
  const { title, note, secret } = newSecret.value;
  return (
    <Dialog title={title} closesByKey={false} onClose={() => {}}>
      <p>Copy it now: it is not shown again. {note}</p>
      <pre class="id">{secret}</pre>
      <div class="dialog-actions">
        <button type="button" onClick={() => navigator.clipboard.writeText(secret)}>
          Copy
        </button>
        <button type="button" class="primary" onClick={setting(newSecret, undefined)}>
          I have copied it
        </button>
      </div>
    </Dialog>
  );
}
