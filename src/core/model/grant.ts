/** The part of a message from a line that lets its task start. */
export interface Grant {
  /** The line's state has a place for the task. */
  held?: true;
  /** A worker runs the task already: this message starts it only when that worker has died. Comes with `held`. */
  spare?: true;
  /** Epoch milliseconds of the start that the type's rate gave it. */
  slotMs?: number;
  /** The breaker lets the task try until then, in epoch milliseconds. */
  tryUntilMs?: number;
}

/** Writes a grant as the text of a message attribute. */
export const grantText = ({ held, spare, slotMs, tryUntilMs }: Grant): string =>
  `${held ? (spare ? "spare" : "held") : ""}@${slotMs ?? ""}${tryUntilMs === undefined ? "" : `@${tryUntilMs}`}`;

/** Reads a message attribute. Returns undefined for a text that is not a grant. */
export function parseGrant(text: string | undefined): Grant | undefined {
  const [, held, slot, tryUntil] = /^(held|spare|)@(\d{1,15}|)(?:@(\d{1,15}))?$/.exec(text ?? "") ?? [];
  if (held === undefined || slot === undefined) return undefined;
  return {
    ...(held === "" ? {} : { held: true }),
    ...(held === "spare" ? { spare: true } : {}),
    ...(slot === "" ? {} : { slotMs: Number(slot) }),
    ...(tryUntil === undefined ? {} : { tryUntilMs: Number(tryUntil) }),
  };
}
