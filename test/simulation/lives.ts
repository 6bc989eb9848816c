import type { TaskRecord } from "../../src/core/model/record.ts";
import type { Core } from "./core.ts";
import { Costs } from "./costs.ts";
import type { Dice } from "./dice.ts";
import type { Invocation } from "./invocation.ts";
import type { Scheduler } from "./scheduler.ts";
import type { StepFacts } from "./step-facts.ts";
import type { Story } from "./story.ts";
import type { Table } from "./table.ts";

/** One attempt as it was claimed. */
export interface Claim {
  round: number;
  number: number;
  total: number;
  /** Time of the claim, in epoch milliseconds. */
  at: number;
  by: Invocation;
  /** Until when its lease was given. */
  leaseUntil: string;
  /** True when the attempt before it crashed: then it must run alone. */
  alone: boolean;
  /** True when the invocation was told that the claim is its own. */
  known: boolean;
  /** True when its handler started. */
  started: boolean;
  /** True when its worker read entries or an object before the handler: where that fails, the handler does not start. */
  readFirst: boolean;
  /** True when its worker has settled it. */
  settled: boolean;
  /** True when the attempt was suspended: it does not count. */
  suspended: boolean;
}

/** What is known of one task, from everything that was ever written of it. */
export interface Life {
  tenantId: string;
  taskId: string;
  /** When its record was written, in epoch milliseconds. */
  bornAt: number;
  /** The `created_at` of its record. */
  createdAt: string;
  /** The call that wrote its record. */
  by: Invocation;
  steps: StepFacts;
  /** The input that it was submitted with, as JSON, where a client did. */
  input: string | undefined;
  /** Whether somebody was told that it is accepted. */
  accepted: boolean;
  claims: Claim[];
  /** The stacks of its failed attempts, by round and number. */
  stacks: Map<string, string>;
  /** The tasks that its handler submitted, by their places in its steps. */
  children: Map<number, string>;
  /** Every `dead_letter_at` it had. */
  deaths: Set<string>;
  /** Whether its newest death was discarded. */
  discarded: boolean;
  /** Whether a client was told that it is cancelled. */
  cancelled: boolean;
  /** The rounds in which a client was told that the handler still has to stop. */
  cancelling: Set<number>;
  /** Until when clients were told that it is kept, in epoch milliseconds. */
  keptUntil: number;
  /** Whether it was deleted, as its time was over. */
  purged: boolean;
}

/** The parts of a world that its promises are checked on. */
export interface Watched {
  core: Core;
  dice: Dice;
  time: Scheduler;
  story: Story;
  table: Table;
  /** Number of the world's faults so far. Endless where a service was down. */
  troubles: () => number;
}

/** Everything that is known of the tasks of a world, and the promises that were broken. */
export class Lives {
  readonly violations: { text: string; taskId: string | undefined }[] = [];
  readonly lives = new Map<string, Life>();
  readonly costs = new Costs();
  protected readonly watched: Watched;

  constructor(watched: Watched) {
    this.watched = watched;
  }

  violated(text: string, taskId?: string): void {
    const { story, time } = this.watched;
    this.violations.push({ text, taskId });
    story.tell(time.now, "WITNESS", () => `✗✗ ${taskId === undefined ? "" : `${story.name(taskId)}: `}${text}`);
  }

  life(taskId: string): Life | undefined {
    return this.lives.get(taskId);
  }

  /** The record of a task that is pending. Undefined: it runs, or has ended. */
  pending(taskId: string): TaskRecord | undefined {
    const { tenantId = "" } = this.life(taskId) ?? {};
    const record = this.watched.table.read({ tenant_id: tenantId, task_id: taskId });
    return record?.status === "pending" ? record : undefined;
  }
}
