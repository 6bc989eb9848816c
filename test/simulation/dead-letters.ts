import type { DeadLetterMessage } from "../../src/core/model/envelope.ts";
import type { Tier } from "../../src/core/model/words.ts";
import type { SubmitPorts } from "../../src/core/pipeline/submit/submit-ports.ts";
import type { DeadLetterQueues } from "../../src/core/ports/queues.ts";
import type { TaskContext } from "../../src/core/task/context.ts";
import type { Invocation } from "./invocation.ts";
import { onceFor } from "./once.ts";
import type { DeadMessage } from "./queues.ts";
import { request } from "./wire.ts";
import type { World } from "./world.ts";

/** Sweeps a tier's DLQ, as the worker of Offload's own type does. */
export const sweepFor = (world: World, from: Invocation, ports: SubmitPorts, tier: Tier, task: TaskContext) =>
  world.core.sweep.sweep({ ...ports, once: onceFor(world, from), ...lettersFor(world, from) }, tier, {
    owner: `${task.taskId}.${task.attemptOverall}`,
    endMs: ports.clock.now() + 800_000,
    signal: task.signal,
    log: task.log,
  });

/** The DLQs as a sweep reads them. */
function lettersFor(world: World, from: Invocation) {
  const { queues, time, witness } = world;
  const ask = <T>(what: string, apply: () => T) => request(world, from, { service: "queue", what: () => what, apply });
  const byHandle = (handle: string) => queues.dead.find((dead) => dead.handle === handle);
  const deadLetterQueues: DeadLetterQueues = {
    receive: (tier, holdSeconds) =>
      ask(`receives letters of ${tier}`, () => {
        const visible = queues.dead.filter((dead) => dead.tier === tier && (dead.visibleAt ?? 0) <= time.now);
        return visible.slice(0, 10).map((dead) => {
          dead.visibleAt = time.now + holdSeconds * 1000;
          dead.id ??= `l${queues.dead.indexOf(dead)} ${world.dice.next()}`;
          dead.handle = `${dead.id} ${time.now}`;
          const original = "letter" in dead ? dead.letter.original_message : "";
          if (typeof original !== "string") witness.costs.swept(original.task_id);
          return { messageId: dead.id, receiptHandle: dead.handle, body: bodyOf(dead) };
        });
      }),
    delete: (_, letters) =>
      ask(`deletes ${letters.length} letters`, () => {
        for (const { receiptHandle } of letters) {
          const dead = byHandle(receiptHandle);
          if (dead !== undefined) queues.dead.splice(queues.dead.indexOf(dead), 1);
        }
      }),
    release: (_, letters) =>
      ask(`releases ${letters.length} letters`, () => {
        for (const { receiptHandle } of letters) Object.assign(byHandle(receiptHandle) ?? {}, { visibleAt: time.now });
      }),
  };
  const depths = {
    ofTier: async () => ({ visible: 0, inFlight: 0, delayed: 0 }),
    ofDlq: (tier: Tier) =>
      ask(`looks at the DLQ of ${tier}`, () => {
        const dead = queues.dead.filter((one) => one.tier === tier);
        const inFlight = dead.filter(({ visibleAt = 0 }) => visibleAt > time.now).length;
        return { visible: dead.length - inFlight, inFlight, delayed: 0 };
      }),
  };
  return { deadLetterQueues, depths };
}

const bodyOf = (dead: DeadMessage): string => ("letter" in dead ? JSON.stringify(dead.letter) : dead.body);

const isOf = ({ original_message: original }: DeadLetterMessage, taskId: string): boolean =>
  typeof original !== "string" && original.task_id === taskId;

/** Each letter in a DLQ is of a task that is a dead letter since then. */
export function judgeLetters({ queues, table, witness, weather, outages, time, core }: World): void {
  // A late try of a request dead-letters once more; and a sweep has twenty attempts.
  if (weather.used > 0 || outages.count > 0) return;
  for (const taskId of witness.letters.left)
    if (queues.dead.some((dead) => "letter" in dead && isOf(dead.letter, taskId)))
      witness.violated("it is in the DLQ, and no record is in the list of dead letters", taskId);
    else witness.violated("the last copy of a dead letter was deleted", taskId);
  for (const dead of queues.dead) {
    if (!("letter" in dead)) continue;
    const { original_message: original, last_failed_at: failedAt }: DeadLetterMessage = dead.letter;
    const record = typeof original === "string" ? undefined : table.read(original);
    if (record === undefined || !core.record.isKept(record, time.now) || record.dead_letter_at === failedAt) continue;
    witness.violated("its letter stays in the DLQ, although it is no dead letter any more", record.task_id);
  }
}
