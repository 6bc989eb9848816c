import type { Change } from "../core/change.ts";

/** What a call of a port is called among the steps of an attempt. */
export function stepName(method: string, argument: unknown): string {
  if (method === "change") return changeName((argument as readonly [unknown, Change])[1]);
  const [first, second] = argument as readonly unknown[];
  if (method === "savePart") return `keep ${String(second)}`;
  if (method === "loadPart") return `load ${String(second)}`;
  const { key } = (first ?? {}) as { key?: unknown };
  return names[method] ?? `${method} once ${String(key)}`;
}

const names: Readonly<Record<string, string>> = {
  create: "submit: write the record",
  get: "look at the record",
  send: "send a message",
  hold: "hold the message",
  bury: "send the dead letter",
};

/** By what the change writes. */
function changeName({ set = {}, append }: Change): string {
  if (set.status === "processing") return "claim";
  if (append !== undefined) return `settle: ${append.outcome}`;
  if (set.progress !== undefined) return "report progress";
  if (set.lease_until !== undefined) return "renew the lease";
  return set.buried_at === undefined ? "change the record" : "note the dead letter";
}
