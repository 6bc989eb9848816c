/** The part of a message from a line that lets its task start. */
export interface Grant {
  /** The line's state has a place for the task. */
  held?: true;
  /** The bucket of the place that it has. Absent: the first one. */
  bucket?: number;
  /** A worker runs the task already: this message starts it only when that worker has died. */
  spare?: true;
  /** Epoch milliseconds of the start that the type's rate gave it. */
  slotMs?: number;
  /** The breaker lets the task try until then, in epoch milliseconds. */
  tryUntilMs?: number;
}

/** Writes a grant as the text of a message attribute. */
export const grantText = ({ held, bucket, spare, slotMs, tryUntilMs }: Grant): string =>
  `${[held && `held${bucket ? `.${bucket}` : ""}`, spare && "spare"].filter(Boolean).join("-")}@${slotMs ?? ""}${tryUntilMs === undefined ? "" : `@${tryUntilMs}`}`;

const grantPattern = /^(?:(held)(?:\.(\d{1,5}))?)?(?:(?:(?<=\w)-|^)(spare))?@(\d{1,15}|)(?:@(\d{1,15}))?$/;

/** Reads a message attribute. Returns undefined for a text that is not a grant. */
export function parseGrant(text: string | undefined): Grant | undefined {
  const found = grantPattern.exec(text ?? "");
  if (found === null) return undefined;
  const [, held, bucket, spare, slot, tryUntil] = found;
  return {
    ...(held === undefined ? {} : heldIn(Number(bucket ?? 0))),
    ...(spare === undefined ? {} : { spare: true }),
    ...(slot === "" ? {} : { slotMs: Number(slot) }),
    ...(tryUntil === undefined ? {} : { tryUntilMs: Number(tryUntil) }),
  };
}

/** The grant of a place. */
export const heldIn = (bucket: number): Grant => ({ held: true, ...(bucket > 0 && { bucket }) });
