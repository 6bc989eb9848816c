/*
 * Lists of words of requests and answers. Each type is that of its list, and the document has the same list: a word
 * that is added to one is in all.
 */

/** The four priority queues, most urgent first. */
export const tiers = ["critical", "high", "normal", "low"] as const;
export type Tier = (typeof tiers)[number];

/**
 * Ends of an attempt. `failed`: no attempt follows. `retried`: one follows. A crash or time-out keeps its own word in
 * both cases.
 */
export const attemptOutcomes = ["completed", "failed", "retried", "crashed", "timed_out", "cancelled"] as const;
export type AttemptOutcome = (typeof attemptOutcomes)[number];

/**
 * Kinds of entries. `step`: a step that returned. `try`: the end of one try of a step that has several. `sleep`,
 * `wait`: a sleep or wait that began. `signal`: the answer to a wait of the same name. `read`: the end of a
 * wait that several signals may end. `state`: the last checkpoint, which alone is replaced. `submit`: tasks that an
 * attempt submitted. `run`: the end of a child that the handler awaited.
 */
export const entryKinds = ["step", "try", "sleep", "wait", "signal", "read", "state", "submit", "run"] as const;
export type EntryKind = (typeof entryKinds)[number];

/** Places to look for the cause of an error. */
export const errorHints = ["credentials", "bug"] as const;
export type ErrorHint = (typeof errorHints)[number];

/** States of the delivery of a webhook. */
export const deliveryStates = ["pending", "delivered", "failed"] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** Events that a receiver of webhooks can ask for. */
export const receiverEvents = ["task.completed", "task.failed", "task.cancelled", "task.expired"] as const;
export type ReceiverEvent = (typeof receiverEvents)[number];

/** States of a receiver. `disabled`: by Offload, after five days of failures. */
export const receiverHealths = ["healthy", "failing", "disabled"] as const;
export type ReceiverHealth = (typeof receiverHealths)[number];

/** Levels of log lines. */
export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

/** States of an alarm. */
export const alarmStates = ["ok", "alarm", "insufficient_data"] as const;
export type AlarmState = (typeof alarmStates)[number];

/** Places where a schedule is defined. */
export const scheduleSources = ["code", "api"] as const;
export type ScheduleSource = (typeof scheduleSources)[number];

/** All statuses of a task. `scheduled` and `expired` can follow from the time alone: see `statusAt`. */
export const statuses = ["scheduled", "pending", "processing", "completed", "failed", "cancelled", "expired"] as const;
export type Status = (typeof statuses)[number];

/** Allowed transitions between statuses. `docs/architecture.md` draws this table, and a test compares the two. */
export const transitions: Readonly<Record<Status, readonly Status[]>> = {
  scheduled: ["pending", "cancelled"],
  pending: ["processing", "cancelled", "expired", "failed"],
  processing: ["completed", "failed", "pending", "cancelled"],
  completed: [],
  failed: ["pending"],
  // A new round of the parent starts the children again that did not complete.
  cancelled: ["pending"],
  expired: ["pending"],
};

const terminalStatuses: readonly Status[] = ["completed", "failed", "cancelled", "expired"];

/** True for a status that ends a task. A failed task can still get a new round. */
export const isTerminal = (status: Status): boolean => terminalStatuses.includes(status);

/**
 * The roles. Each reads at least what the one before it reads. A `viewer` changes nothing: `src/api/http/api.ts`
 * refuses it every route that changes something, and the others have a least role.
 */
export const roles = ["submitter", "viewer", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

/**
 * Roles of tokens for which the deployment maps no claim to a role: `admin` is for all tenants, and so never a default.
 */
export const tokenRoles = ["submitter", "viewer", "operator"] as const satisfies readonly Role[];
export type TokenRole = (typeof tokenRoles)[number];

/** The caller, as its API key or token says. */
export interface Identity {
  tenantId: string;
  principal: string;
  role: Role;
  /** True: a viewer that may read inputs and logs. */
  inputs?: true;
}

/** True when a caller may have at least the rights of a role, where it only reads. */
export const readsAs = (role: Role, min: Role): boolean => roles.indexOf(role) >= roles.indexOf(min);

/** True when a caller may read inputs and logs of the tasks that it may read. */
export const seesInputs = ({ role, inputs }: Pick<Identity, "role" | "inputs">): boolean =>
  role !== "viewer" || inputs === true;

/** The role of a key for people, such as `viewer, inputs`. */
export const roleInWords = ({ role, inputs }: { role: Role; inputs?: boolean }): string =>
  inputs === true ? `${role}, inputs` : role;

/** The least and the most of the whole numbers in a submit. */
export const wholeFields = {
  delay_seconds: [0, 31_536_000],
  max_attempts: [1, 20],
  expires_in_seconds: [1, 1_209_600],
  retention_seconds: [60, 2_592_000],
} as const;

/** The longest name of a type in a submit. */
export const longestTypeName = 64;
