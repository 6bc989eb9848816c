import { fingerprint } from "../../src/core/model/idempotency.ts";
import type { TaskRecord } from "../../src/core/model/record.ts";
import type { Identity } from "../../src/core/model/words.ts";
import { portsFor } from "./ports.ts";
import { problemCode, serve } from "./serve.ts";
import type { World } from "./world.ts";

/** Answers after which a client tries again. */
export const passing = new Set(["unavailable", "queue_full"]);

export const pause = (world: World, ms: number) => new Promise<void>((resolve) => world.time.after(ms, resolve));

/** A client has the answer that a task is accepted. */
export function isAccepted({ story, time, witness }: World, taskId: string): void {
  story.tell(time.now, "client", () => `${story.name(taskId)} is accepted`);
  const life = witness.life(taskId);
  if (life === undefined) witness.violated("promise 1: accepted, and there is no record", taskId);
  else life.accepted = true;
}

type Body = Record<string, unknown>;

/** Outcome of an entry: its task, or the code of its problem. */
type Outcome = { record: TaskRecord } | { code: string };

/** A batch of submits, as a client sends it each time that it tries. */
interface Batch {
  bodies: readonly Body[];
  key: string | undefined;
  /** The ids that each entry got. A key makes one task, and the keys of two entries make two. */
  ids: readonly Set<string>[];
}

/** Submits some tasks in one request. With keys it sends the batch again until each entry has an answer; sometimes gives up. */
export async function submitTogether(
  world: World,
  identity: Identity,
  drawBody: (world: World) => Body,
): Promise<string[]> {
  const { dice } = world;
  const kind = dice.pick(["batch", "batch", "own", "none"] as const);
  const batch = drawBatch(world, kind, drawBody);
  const patience = kind === "none" ? 1 : dice.chance(0.8) ? Number.POSITIVE_INFINITY : dice.int(1, 3);
  const one = async () => {
    for (let tries = 0; tries < patience; tries++) {
      if (await trySubmit(world, identity, batch)) return;
      await pause(world, dice.spread(10, 60_000 * (tries + 1)));
    }
  };
  await Promise.all(Array.from({ length: kind !== "none" && dice.chance(0.3) ? 2 : 1 }, one));
  checkIds(world, batch);
  return batch.ids.flatMap((ids) => [...ids].slice(0, 1));
}

function drawBatch(world: World, kind: "batch" | "own" | "none", drawBody: (world: World) => Body): Batch {
  const { dice } = world;
  // Equal entries are tasks of their own, too.
  const same = dice.chance(0.3) ? drawBody(world) : undefined;
  const bodies = Array.from({ length: dice.int(1, 5) }, () => same ?? drawBody(world));
  const name = `entry-${world.witness.lives.size}-${dice.int(1, 1_000_000)}`;
  return {
    bodies: bodies.map((body, index) => (kind === "own" ? { ...body, idempotency_key: `${name}.${index}` } : body)),
    // Few, so that principals of two tenants take the same.
    key: kind === "batch" ? `batch-${dice.int(1, 4)}` : undefined,
    ids: bodies.map(() => new Set()),
  };
}

/** Sends the batch once. Returns true when no entry can have another answer later. */
async function trySubmit(world: World, identity: Identity, { bodies, key, ids }: Batch): Promise<boolean> {
  const { core } = world;
  const what = () =>
    `batch ${identity.tenantId}/${identity.principal} ${key ?? ""} ${JSON.stringify(bodies).slice(0, 300)}`;
  const answer = await serve(world, "submit", identity.tenantId, what, async (invocation): Promise<Outcome[]> => {
    invocation.inputs = new Map(
      bodies.map(({ idempotency_key, ...body }) => [fingerprint(body), JSON.stringify(body.input)]),
    );
    const call = { identity, body: { tasks: bodies }, idempotencyKey: key, correlationId: "correlation" };
    const onBug = (error: unknown) => new core.problem.Problem(problemCode(world, error), "");
    const entries = await core.submitBatch.submitBatch(portsFor(world, invocation), call, onBug);
    return entries.map((entry) =>
      "accepted" in entry ? { record: entry.accepted.record } : { code: entry.refused.code },
    );
  });
  if (answer.got !== "value") return answer.got === "problem" && !passing.has(answer.code);
  for (const [index, outcome] of answer.value.entries()) {
    if (!("record" in outcome)) continue;
    const { record } = outcome;
    isAccepted(world, record.task_id);
    world.witness.keys.answered(identity, keyOf(bodies[index], key, index), record);
    ids[index]?.add(record.task_id);
  }
  return answer.value.every((outcome) => "record" in outcome || !passing.has(outcome.code));
}

/** The key of an entry, as no other submit has it. */
const keyOf = (body: Body | undefined, key: string | undefined, index: number): string | undefined =>
  (body?.idempotency_key as string | undefined) ?? (key === undefined ? undefined : `batch ${key} ${index}`);

function checkIds({ witness }: World, { key, bodies, ids }: Batch): void {
  const counts = ids.map(({ size }) => size);
  if (Math.max(...counts) > 1) witness.violated("idempotency: one entry of a batch made two tasks");
  const all = new Set(ids.flatMap((one) => [...one]));
  if (all.size < counts.filter((count) => count > 0).length) {
    witness.violated(`idempotency: ${bodies.length} entries of the batch ${key ?? ""} made ${all.size} tasks`);
  }
}
