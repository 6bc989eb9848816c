/** A shortcut of a page. */
export interface Shortcut {
  /** As `KeyboardEvent.key` names it, such as `j`, `/` or `?`; with `Ctrl+` before it, it works in fields, too. */
  key: string;
  /** For the list of shortcuts. */
  description: string;
  run: () => void;
}

const active = new Set<readonly Shortcut[]>();

/** Adds shortcuts until the returned function is called. Of two with the same key the later one counts. */
export function addShortcuts(shortcuts: readonly Shortcut[]): () => void {
  active.add(shortcuts);
  return () => active.delete(shortcuts);
}

/** The shortcuts that work now. */
export const shortcutsNow = (): Shortcut[] => [...new Map([...active].flat().map((one) => [one.key, one])).values()];

addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]") !== null) return;
  if (event.key === "Escape" && isTyping(event.target)) {
    event.preventDefault();
    event.target.blur();
  }
  const isWith = event.ctrlKey || event.metaKey;
  if (event.altKey || (!isWith && isTyping(event.target))) return;
  const pressed = isWith ? `Ctrl+${event.key}` : event.key;
  const found = shortcutsNow().find(({ key }) => key === pressed);
  if (found === undefined) return;
  event.preventDefault();
  found.run();
});

const isTyping = (target: EventTarget | null): target is HTMLElement =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
