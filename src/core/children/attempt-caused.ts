import type { TaskRecord } from "../model/record.ts";
import type { CallCounts } from "../ports/steps.ts";
import type { Caused } from "../steps/attempt-steps.ts";
import { AttemptSubmits, type SubmitterPorts } from "./attempt-submits.ts";
import type { SpawnPorts } from "./page-writer.ts";
import { Spawner } from "./spawner.ts";

/** The children and other tasks of an attempt. */
export class AttemptCaused implements Caused {
  readonly spawner: Spawner;
  readonly submits: AttemptSubmits;

  /**
   * @param aggregates True for the attempt that aggregates: the default keys of its calls are its own in each round.
   */
  constructor(
    ports: SpawnPorts & SubmitterPorts,
    record: TaskRecord,
    traceparent: string | undefined,
    aggregates: boolean,
  ) {
    const prefix = aggregates ? `aggregate ${record.round}#` : "";
    this.spawner = new Spawner(ports, record, traceparent, prefix);
    this.submits = new AttemptSubmits(ports, record, traceparent, prefix);
  }

  async keep(): Promise<void> {
    await this.spawner.keep();
  }

  counts(): CallCounts {
    const spawned = this.spawner.numbers.count;
    const submitted = this.submits.numbers.count;
    return { ...(spawned > 0 && { spawned }), ...(submitted > 0 && { submitted }) };
  }

  /** Goes on behind the calls of a stored state. */
  startBehind({ spawned = 0, submitted = 0 }: CallCounts): void {
    this.spawner.numbers.startBehind(spawned);
    this.submits.numbers.startBehind(submitted);
  }

  /** Keeps all that the attempt has caused: a later one goes on behind it. */
  async keepAll(): Promise<void> {
    await this.spawner.keep();
    await this.submits.keep();
  }
}
