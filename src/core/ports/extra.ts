import type { Envelope } from "../model/envelope.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Families } from "./family.ts";
import type { ChangeNotice } from "./notify.ts";
import type { DispatchPorts } from "./steps.ts";
import type { Random } from "./tasks.ts";

/**
 * An extra that follows the records of tasks. A step calls the hooks of all extras in the order of one list, and names
 * none of them. An extra keeps nothing between two calls, knows no other extra, and changes no status.
 */
export interface Extra {
  readonly name: string;
  /** A task uses the extra if its record has this field. Absent: the hooks know. */
  readonly field?: keyof TaskRecord;
  /**
   * The record of a task that goes on, or may, is about to be kept until `purgeAt`, epoch seconds. The extra keeps what
   * it has beside the record for as long. Called before the change, so that a death between the two loses nothing: an
   * error prevents the change, and each repeat of the change calls it again.
   * @throws PortUnavailable
   */
  keep?(ports: EndPorts, record: TaskRecord, purgeAt: number): Promise<void>;
  /**
   * The same for what each attempt keeps that reads it. The end of an attempt calls it only for a wait of days: before
   * the change that waits for children; after that of a retry, as what the attempt has read is kept for weeks all the
   * same, and an error delivers the message again.
   * @throws PortUnavailable
   */
  keepRead?(ports: EndPorts, record: TaskRecord, purgeAt: number): Promise<void>;
  /**
   * The record of a task that is about to end for good is to be kept until `purgeAt`. The rules are those of `keep`.
   * @throws PortUnavailable
   */
  keepEnded?(ports: EndPorts, record: TaskRecord, purgeAt: number): Promise<void>;
  /**
   * An open task has another status or progress. Called once, after the change, and nothing repeats it: an extra drops
   * what it cannot do, and never throws PortUnavailable.
   */
  changed?(ports: EndPorts, record: TaskRecord, change: ChangeNotice["change"]): Promise<void>;
  /**
   * A task has ended. Called after the change and before the message of a dead letter is sent: an error delivers the
   * task's message again, and each delivery calls it until it succeeds. A task that has not ended is passed over.
   * @param envelope The task's message. Undefined: the caller does not have it.
   * @throws PortUnavailable
   */
  ended?(ports: EndPorts, record: TaskRecord, envelope: Envelope | undefined): Promise<void>;
  /** The dead letter of a task was discarded. Nothing repeats it. @throws PortUnavailable */
  discarded?(ports: EndPorts, record: TaskRecord): Promise<void>;
  /**
   * An ended task is about to start another round: the process that ended it may have died before `ended`, which
   * nothing calls for that round any more. Called before the change, which an error prevents.
   * @throws PortUnavailable
   */
  beforeRound?(ports: EndPorts, record: TaskRecord): Promise<void>;
}

type Hooks = Required<Omit<Extra, "name" | "field">>;

/** A hook of an extra, for tasks whose records have the field. */
export interface HookOf<Hook> {
  readonly field: keyof TaskRecord | undefined;
  readonly call: Hook;
}

/** The hooks of a list of extras, each with those of the extras that have it, in the order of the list. */
export type Extras = { readonly [Hook in keyof Hooks]: readonly HookOf<Hooks[Hook]>[] };

/** The ports of code in which tasks change or end. Code that only sends tasks has none of the extras in its bundle. */
export interface EndPorts extends DispatchPorts {
  families: Families;
  extras: Extras;
}

/** The ports of an attempt's start and end. */
export interface SettlePorts extends EndPorts {
  random: Random;
  /** Multiplies retry waits. 1, except when trying things out. */
  timeScale: number;
}
