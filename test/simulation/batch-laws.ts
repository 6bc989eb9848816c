import type { TaskKey, TaskRecord } from "../../src/core/model/record.ts";
import { reserveSeconds } from "../../src/core/pipeline/work/batch-plan.ts";
import type { Verdict } from "../../src/core/ports/queues.ts";
import type { Delivery } from "../../src/core/ports/tasks.ts";
import type { Invocation } from "./invocation.ts";
import type { World } from "./world.ts";

/** A batch that has not ended. */
interface Batch {
  invocation: Invocation;
  deliveries: readonly Delivery[];
  startedAt: number;
  /** Time that its function had at the start, in seconds. */
  seconds: number;
}

/** A batch reads its lines before its plan is made. In a world without faults that takes less than this time, in seconds. */
const readSeconds = 1;

/** An attempt of every type fits into this time, in seconds: the reads, 840 s and the reserve. */
const enoughSeconds = readSeconds + 840 + reserveSeconds;

/** Laws of the batches of one tier. They hold in a world without faults. */
export class BatchLaws {
  readonly #world: World;
  readonly #batches = new Set<Batch>();

  constructor(world: World) {
    this.#world = world;
  }

  begin(invocation: Invocation, deliveries: readonly Delivery[], seconds: number): Batch {
    const batch = { invocation, deliveries, startedAt: this.#world.time.now, seconds };
    this.#batches.add(batch);
    if (deliveries.some(({ solo }) => solo)) {
      for (const { body } of deliveries) this.#world.witness.costs.deliveredBesideAlone(keyIn(body)?.task_id ?? "");
    }
    return batch;
  }

  over(batch: Batch): void {
    this.#batches.delete(batch);
  }

  /** A message does not come back while the batch still runs that made its task's last attempt and ended it. */
  received({ body, messageId }: Delivery): void {
    const { witness, core } = this.#world;
    const key = keyIn(body);
    if (key === undefined) return;
    witness.costs.received(key.task_id);
    if (!this.#isFaultless() || !core.status.isTerminal(this.#recordOf(key)?.status ?? "pending")) return;
    const worker = witness.life(key.task_id)?.claims.at(-1)?.by;
    const back = [...this.#batches].some(
      ({ invocation, deliveries }) =>
        invocation === worker &&
        deliveries.some((one) => one.messageId === messageId) &&
        // Of two messages of one task, one is put back, and may come back.
        deliveries.filter((one) => keyIn(one.body)?.task_id === key.task_id).length === 1,
    );
    if (back) witness.violated("a message of an ended task comes back beside its own batch", key.task_id);
  }

  /** A task that could start in its batch is not put back, and one that must run alone is not passed over for others. */
  answered(batch: Batch, verdicts: readonly Verdict[]): void {
    const { invocation, deliveries, seconds } = batch;
    if (!this.#isFaultless() || seconds < enoughSeconds) return;
    // An old message of a task that runs alone may have no mark.
    const alone = new Set(deliveries.filter(({ solo }) => solo).map(({ body }) => keyIn(body)?.task_id));
    const others = deliveries.filter(({ body }) => !alone.has(keyIn(body)?.task_id));
    const othersRan = others.some(({ body }) => this.#ranIn(invocation, body));
    for (const [index, { body, solo, tier }] of deliveries.entries()) {
      const record = this.#recordOf(keyIn(body));
      if (record?.priority !== tier || !this.#waitedThrough(batch, record)) continue;
      const broken = (text: string) => this.#world.witness.violated(text, record.task_id);
      if (verdicts[index] === "again") broken("a task that could start is put back as a failed delivery");
      if (verdicts[index] === "done" && solo && othersRan)
        broken("a task that must run alone is passed over for others");
    }
  }

  #isFaultless(): boolean {
    return this.#world.weather.used === 0 && this.#world.weather.skew === 0;
  }

  #ranIn(invocation: Invocation, body: string): boolean {
    const key = keyIn(body);
    return key !== undefined && this.#world.witness.life(key.task_id)?.claims.at(-1)?.by === invocation;
  }

  /** True when the task was due at the batch's start, and waited unchanged until its end. */
  #waitedThrough({ startedAt }: Batch, record: TaskRecord): boolean {
    const isUnchanged = this.#world.table.changedAt(record) < startedAt;
    const isDue = record.due_at < this.#world.core.record.iso(startedAt);
    return record.status === "pending" && isDue && isUnchanged && record.start_by === undefined;
  }

  #recordOf(key: TaskKey | undefined): TaskRecord | undefined {
    return key && this.#world.table.read(key);
  }
}

/** The task of a message; undefined for a message that is not an envelope. */
function keyIn(body: string): TaskKey | undefined {
  if (body !== lastBody) lastKey = readKey(body);
  lastBody = body;
  return lastKey;
}

/** A message is looked at several times in a row. */
let lastBody: string | undefined;
let lastKey: TaskKey | undefined;

function readKey(body: string): TaskKey | undefined {
  try {
    const { tenant_id, task_id } = JSON.parse(body) as Partial<TaskKey>;
    return tenant_id === undefined || task_id === undefined ? undefined : { tenant_id, task_id };
  } catch {
    return undefined;
  }
}
