/*
 * Lists of words of requests and answers. Each type is that of its list, and the document has the same list: a word
 * that is added to one is in all.
 */

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
