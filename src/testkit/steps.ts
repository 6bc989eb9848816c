import type { Change } from "../core/model/change.ts";
import type { StepEntry } from "../core/ports/steps.ts";

/** Name of the step that suspends an attempt. */
export const suspendStep = "suspend";

/** Name of a port's call in the list of an attempt's steps. */
export function stepName(method: string, argument: unknown): string {
  if (method === "change") return changeName((argument as readonly [unknown, Change])[1]);
  const [first, second] = argument as readonly unknown[];
  if (method === "savePart") return `store ${String(second)}`;
  if (method === "loadPart") return `load ${String(second)}`;
  if (method === "keepPart") return `keep ${String(second)}`;
  const { key } = (first ?? {}) as { key?: unknown };
  return names[method] ?? `${method} once ${String(key)}`;
}

const names: Readonly<Record<string, string>> = {
  create: "submit: create the record",
  get: "read the record",
  getMany: "read the children",
  send: "send a message",
  hold: "hide the message",
  deadLetter: "send to the dead-letter queue",
  end: "count the end of a child",
  seal: "seal the family",
  read: "read the family",
  savePage: "store a page of children",
  notePage: "note the created children of a page",
  pages: "load the pages of children",
};

/** Name of a call to the bucket, or to the list of its objects. */
export const objectStepName = (method: string): string => objectNames[method] ?? `${method} an object`;

const objectNames: Readonly<Record<string, string>> = {
  add: "list an object",
  put: "store an object",
};

/** Name of a change of the record, from the fields that it sets. */
function changeName({ set = {}, append }: Change): string {
  if (set.status === "processing") return "claim";
  if (set.status === "pending" && append === undefined) return suspendStep;
  if (append !== undefined && set.family_state === undefined) return `settle: ${append.outcome}`;
  if (set.progress !== undefined) return "report progress";
  if (set.family_state === "waiting") return "settle: wait for the children";
  if (set.family_state !== undefined) return "note the children";
  if (set.lease_until !== undefined) return "renew the lease";
  return set.buried_at === undefined ? "change the record" : "mark as sent to the dead-letter queue";
}

/** Name of a call to the entries of a task: its steps, sleeps, waits and states. */
export function entryStepName(method: string, argument: unknown): string {
  const [, entry] = argument as readonly [unknown, StepEntry];
  if (method === "load") return "read the stored steps";
  if (method === "saveState") return "checkpoint";
  if (method === "keep") return "keep the stored steps";
  const { kind, name } = entry;
  if (kind === "submit") return "store what was submitted";
  return kind === "sleep" ? `begin sleep ${name}` : kind === "step" ? `store step ${name}` : `store ${kind} ${name}`;
}

/** Name of a call to the keys of unique submits. */
export const keyStepName = (method: string): string => keyNames[method] ?? "change a unique key";

const keyNames: Readonly<Record<string, string>> = {
  holder: "submit: read the unique key",
  take: "submit: take the unique key",
};

/** Name of a call to the lists of collected inputs. */
export const listStepName = (method: string): string => listNames[method] ?? "read the collected inputs";

const listNames: Readonly<Record<string, string>> = {
  add: "submit: add the input to the list",
  close: "close the list of inputs",
  keep: "keep the collected inputs",
};

/** Name of a call to the records of schedules. */
export const scheduleStepName = (method: string): string => scheduleNames[method] ?? "store the schedule";

const scheduleNames: Readonly<Record<string, string>> = {
  get: "read the schedule",
  delete: "delete the schedule",
};

/** Name of a call about the rule of a schedule. */
export const ruleStepName = (method: string): string => `schedule's rule: ${method}`;
