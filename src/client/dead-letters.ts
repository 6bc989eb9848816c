import type { DryRun, StartedOperation } from "../api/acts/views.ts";
import type { DeadLetterFilter as CoreFilter, DeadLetterView } from "../core/control/find-dead-letters.ts";
import type { OperationView } from "../core/control/operation.ts";
import type { CallOptions } from "./limits.ts";
import { List } from "./list.ts";
import { path, type Query, type Transport } from "./transport.ts";
import { type Time, toWire } from "./wire.ts";

/** Filter for dead letters. An absent field selects all. */
export interface DeadLetterFilter extends Omit<CoreFilter, "failedAfter" | "failedBefore"> {
  failedAfter?: Time | undefined;
  failedBefore?: Time | undefined;
}

/** Selects dead letters: at most 100 by id, or by filter. An empty filter selects all of the tenant. */
export type Selection = { readonly taskIds: readonly string[] } | { readonly filter: DeadLetterFilter };

/** Calls about dead letters. They require the role operator. */
export class DeadLetters {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists dead letters, newest first. */
  list(filter: DeadLetterFilter = {}, options?: CallOptions): List<DeadLetterView> {
    return new List(this.#transport, "/dead-letters", "dead_letters", toWire(filter) as Query, options);
  }

  /** Counts the dead letters that a replay or a discard would select. Changes nothing. */
  async count(action: "replay" | "discard", selection: Selection, options?: CallOptions): Promise<number> {
    const body = { ...bodyOf(selection), dry_run: true };
    return (await this.#transport.post<DryRun>(`/dead-letters/${action}`, body, options)).matched;
  }

  /**
   * Starts a new round of each selected task. Sent again only when the API did not take the request: a second replay
   * could start a task that has failed once more since.
   */
  replay(
    selection: Selection,
    { perSecond, ...options }: CallOptions & { perSecond?: number | undefined } = {},
  ): Promise<StartedOperation> {
    const body = { ...bodyOf(selection), per_second: perSecond };
    return this.#transport.postOnce("/dead-letters/replay", body, options);
  }

  /**
   * Removes dead letters from the list; their tasks stay failed. Sent again only when the API did not take the request.
   */
  discard(selection: Selection, options?: CallOptions): Promise<StartedOperation> {
    return this.#transport.postOnce("/dead-letters/discard", bodyOf(selection), options);
  }

  /** Reads the progress of a replay or discard. */
  operation(operationId: string, options?: CallOptions): Promise<OperationView> {
    return this.#transport.get(path`/operations/${operationId}`, options);
  }
}

/** A selection of tasks or dead letters, as the API takes it. */
export const bodyOf = (selection: Exclude<Selection, { filter: unknown }> | { readonly filter: object }) =>
  "filter" in selection ? { filter: toWire(selection.filter) } : { task_ids: selection.taskIds };
