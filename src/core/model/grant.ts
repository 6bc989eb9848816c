/** The part of a message from a line that lets its task start. */
export interface Grant {
  /** The line's state has a place for the task. */
  held?: true;
  /** A worker runs the task already: this message starts it only when that worker has died. */
  spare?: true;
  /** Epoch milliseconds of the start that the type's rate gave it. */
  slotMs?: number;
  /** The breaker lets the task try until then, in epoch milliseconds. */
  tryUntilMs?: number;
}

/** Writes a grant as the text of a message attribute. */
export const grantText = ({ held, spare, slotMs, tryUntilMs }: Grant): string =>
  `${[held && "held", spare && "spare"].filter(Boolean).join("-")}@${slotMs ?? ""}${tryUntilMs === undefined ? "" : `@${tryUntilMs}`}`;

/** Reads a message attribute. Returns undefined for a text that is not a grant. */
export function parseGrant(text: string | undefined): Grant | undefined {
  const [, parts, slot, tryUntil] = /^(held|spare|held-spare|)@(\d{1,15}|)(?:@(\d{1,15}))?$/.exec(text ?? "") ?? [];
  if (parts === undefined || slot === undefined) return undefined;
  return {
    ...(parts.startsWith("held") ? { held: true } : {}),
    ...(parts.endsWith("spare") ? { spare: true } : {}),
    ...(slot === "" ? {} : { slotMs: Number(slot) }),
    ...(tryUntil === undefined ? {} : { tryUntilMs: Number(tryUntil) }),
  };
}
