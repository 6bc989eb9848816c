import { shortcutsNow } from "./keyboard.ts";
import { Dialog } from "./parts/dialog.tsx";

/** The list of the shortcuts that work on this page. */
export function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Shortcuts" onClose={onClose}>
      <dl class="facts">
        {shortcutsNow().map(({ key, description }) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{description}</dd>
          </div>
        ))}
      </dl>
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
