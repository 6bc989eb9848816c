/** The part of a message from a line that lets its task start. */
export interface Ticket {
  /** The line's state has a permit for the task. */
  hasPermit?: true;
  /** The bucket of the permit that it has. Absent: the first one. */
  bucket?: number;
  /** A worker runs the task already: this message starts it only when that worker has died. */
  isBackup?: true;
  /** Epoch milliseconds of the start that the type's rate gave it. */
  slotMs?: number;
  /** The breaker lets the task try until then, in epoch milliseconds. */
  tryUntilMs?: number;
}

/** Writes a ticket as the text of a message attribute. */
export const ticketText = ({ hasPermit, bucket, isBackup, slotMs, tryUntilMs }: Ticket): string =>
  `${[hasPermit && `held${bucket ? `.${bucket}` : ""}`, isBackup && "spare"].filter(Boolean).join("-")}@${slotMs ?? ""}${tryUntilMs === undefined ? "" : `@${tryUntilMs}`}`;

const ticketPattern = /^(?:(held)(?:\.(\d{1,5}))?)?(?:(?:(?<=\w)-|^)(spare))?@(\d{1,15}|)(?:@(\d{1,15}))?$/;

/** Reads a message attribute. Returns undefined for a text that is not a ticket. */
export function parseTicket(text: string | undefined): Ticket | undefined {
  const found = ticketPattern.exec(text ?? "");
  if (found === null) return undefined;
  const [, hasPermit, bucket, isBackup, slot, tryUntil] = found;
  return {
    ...(hasPermit === undefined ? {} : permitIn(Number(bucket ?? 0))),
    ...(isBackup === undefined ? {} : { isBackup: true }),
    ...(slot === "" ? {} : { slotMs: Number(slot) }),
    ...(tryUntil === undefined ? {} : { tryUntilMs: Number(tryUntil) }),
  };
}

/** The ticket of a permit. */
export const permitIn = (bucket: number): Ticket => ({ hasPermit: true, ...(bucket > 0 && { bucket }) });
