/** The part of a message from a line that lets its task start. */
export interface Grant {
  /** The line's state has a place for the task. */
  held?: true;
  /** Epoch milliseconds of the start that the type's rate gave it. */
  slotMs?: number;
}

/** Writes a grant as the text of a message attribute. */
export const grantText = ({ held, slotMs }: Grant): string => `${held ? "held" : ""}@${slotMs ?? ""}`;

/** Reads a message attribute. Returns undefined for a text that is not a grant. */
export function parseGrant(text: string | undefined): Grant | undefined {
  const [, held, slot] = /^(held|)@(\d{1,15}|)$/.exec(text ?? "") ?? [];
  if (held === undefined || slot === undefined) return undefined;
  return { ...(held === "" ? {} : { held: true }), ...(slot === "" ? {} : { slotMs: Number(slot) }) };
}
