import type { Status } from "../core/model/words.ts";

declare const resultOf: unique symbol;

/** A task: its id, or an object that has it, such as an answer of the client. `Result` is for the compiler only. */
export type TaskRef<Result = unknown> = string | { readonly task_id: string; readonly [resultOf]?: Result };

/** A task by its unique key. */
export interface TaskOfKey<Name extends string = string> {
  /** The task's type. */
  type: Name;
  /** The unique key, as the submit had it. */
  key: string;
}

/** An accepted task, with the type of its result. */
export interface SubmittedTask<Result = unknown> {
  readonly task_id: string;
  readonly status: Status;
  /** Path of the task's status. */
  readonly poll_url: string;
  readonly created_at: string;
  /** Number of the input in the list of the task, from 1. Only with the mode `collect` of `unique`. */
  readonly collected?: number;
  /** Never set: carries the result's type for the compiler. */
  readonly [resultOf]?: Result;
}

export const idOf = (task: TaskRef): string => (typeof task === "string" ? task : task.task_id);
