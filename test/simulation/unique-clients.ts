import type { TaskKey } from "../../src/core/model/record.ts";
import type { Identity } from "../../src/core/model/words.ts";
import type { Accepted } from "../../src/core/pipeline/submit/submit-ports.ts";
import { isAccepted, passing, pause } from "./batches.ts";
import { drawTask, type TaskPlan } from "./plans.ts";
import { portsFor } from "./ports.ts";
import { serve } from "./serve.ts";
import type { Theme } from "./weather.ts";
import type { World } from "./world.ts";

/** Types that unique submits share, so that their keys meet. */
const sharedTypes: ReadonlySet<string> = new Set(["quick", "soon", "lasting"]);

/** Themes about keys. */
const ofKeys: ReadonlySet<Theme> = new Set(["unique", "keys"]);

/** One submit of a burst. */
export interface Submit {
  identity: Identity;
  body: Record<string, unknown> & { unique: { mode: string; max_wait_seconds?: number } };
  idempotencyKey: string | undefined;
  /** When its first try began. */
  began: number;
  /** Its answers: the times at which their tasks were created, by task id. */
  ids: Map<string, string>;
  act: Act;
}

/** Does something with a task: cancels it, retries it, has it kept for longer. */
type Act = (key: TaskKey) => void;

/** A client sends a burst of submits with one unique key, in one mode or in several. Returns the ids of their tasks. */
export async function submitBurst(world: World, identity: Identity, act: Act): Promise<string[]> {
  const { dice, time } = world;
  const type = dice.pick(["quick", "quick", "soon", "lasting"] as const);
  const key = `unique-${dice.int(1, 2)}`;
  const mode = dice.chance(0.7) ? drawMode(world) : undefined;
  const all: Promise<void>[] = [];
  const ids = new Set<string>();
  for (let count = dice.int(1, 6); count > 0; count--) {
    const unique = { key, ...(mode ?? drawMode(world)) };
    const body = { ...drawUniqueBody(world, type, unique.mode === "debounce"), unique };
    const idempotencyKey = dice.chance(world.theme === "unique" ? 0.8 : 0.4)
      ? `burst-${dice.int(1, 1_000_000_000)}`
      : undefined;
    const one: Submit = { identity, body, idempotencyKey, began: time.now, ids: new Map(), act };
    const sent = submitUntilAnswered(world, one).then(() => {
      for (const id of one.ids.keys()) ids.add(id);
    });
    all.push(sent);
    if (dice.chance(0.3)) await sent;
    else await pause(world, dice.chance(0.4) ? dice.int(0, 10) : dice.spread(1, 20_000));
  }
  await Promise.all(all);
  return [...ids];
}

export function drawMode({ dice, restarts }: World): {
  mode: string;
  wait_seconds?: number;
  max_wait_seconds?: number;
} {
  const mode = dice.pick(["existing", "reject", "replace", "debounce", "debounce"] as const);
  if (mode !== "debounce") return { mode: restarts.has(mode) ? "restart" : mode };
  const wait = dice.spread(1, dice.chance(0.2) ? 2000 : 20);
  return { mode, wait_seconds: wait, max_wait_seconds: wait * dice.int(1, 20) };
}

function drawUniqueBody({ dice, theme }: World, type: string, debounced: boolean): Record<string, unknown> {
  let plan: TaskPlan;
  do plan = drawTask(dice, theme, 2);
  while (!sharedTypes.has(plan.type));
  const marker = `m${dice.int(1, 1_000_000_000)}`;
  return {
    type,
    input: { attempts: plan.attempts, pad: dice.chance(0.02) ? marker.padEnd(50_000, "p") : marker },
    ...(!debounced && dice.chance(0.2) ? { delay_seconds: dice.spread(1, 1200) } : {}),
    ...(!debounced && dice.chance(0.15) ? { expires_in_seconds: dice.spread(1, 200) } : {}),
    ...(dice.chance(0.3) ? { retention_seconds: dice.spread(60, dice.pick([200, 100_000])) } : {}),
    ...(dice.chance(0.1) ? { callback: { url: "https://receiver.example/hook" } } : {}),
  };
}

/** Sends a submit until there is an answer, from two places at once sometimes where it has an idempotency key; sometimes once more later. */
async function submitUntilAnswered(world: World, one: Submit): Promise<void> {
  const { dice, witness } = world;
  const patience = dice.chance(0.8) ? 12 : 1;
  const keyed = one.idempotencyKey !== undefined;
  const place = async () => {
    if (world.theme === "unique") await pause(world, dice.int(0, 30));
    for (let tries = 0; tries < patience; tries++) {
      if (await submitOnce(world, one)) return;
      await pause(world, dice.spread(10, 20_000 * (tries + 1)));
    }
  };
  const places = !keyed ? 1 : world.theme === "unique" ? dice.int(1, 4) : dice.chance(0.2) ? 2 : 1;
  await Promise.all(Array.from({ length: places }, place));
  if (keyed && one.ids.size === 1 && dice.chance(0.3)) {
    const [taskId = ""] = one.ids.keys();
    await pause(world, dice.spread(1, 50_000));
    const record = world.table.read({ tenant_id: one.identity.tenantId, task_id: taskId });
    if (record !== undefined && record.purge_at * 1000 > world.time.now + 60_000) await submitOnce(world, one);
  }
  // A later task may have the same id.
  const isKept = ([taskId, createdAt]: [string, string]) => {
    const record = world.table.read({ tenant_id: one.identity.tenantId, task_id: taskId });
    return record?.created_at === createdAt && record.purge_at * 1000 > world.time.now;
  };
  // A key is remembered as long as its task is kept.
  if (one.ids.size > 1 && [...one.ids].slice(0, -1).every(isKept)) {
    witness.violated(`unique: one idempotency key got ${one.ids.size} tasks`);
  }
}

/** Returns true when no later try can have another answer. */
export async function submitOnce(world: World, one: Submit): Promise<boolean> {
  const { core, witness, time, dice } = world;
  const { identity, body, idempotencyKey } = one;
  const input = JSON.stringify(body.input);
  const { mode, max_wait_seconds: maxWaitSeconds } = body.unique;
  const began = idempotencyKey === undefined ? time.now : one.began;
  const what = () =>
    `submit ${identity.tenantId}/${identity.principal} ${idempotencyKey ?? ""} ${JSON.stringify(body).slice(0, 300)}`;
  const answer = await serve(world, "submit", identity.tenantId, what, async (invocation) => {
    invocation.input = input;
    invocation.unique = { mode, maxWaitSeconds };
    const call = { identity, body, idempotencyKey, correlationId: "correlation" };
    const ports = portsFor(world, invocation);
    const inBatch = ofKeys.has(world.theme) && dice.chance(0.3);
    return inBatch ? submitEntry(world, ports, call) : core.submit.submit(ports, call);
  });
  if (answer.got === "value") {
    const { record } = answer.value;
    isAccepted(world, record.task_id);
    witness.keys.answered(identity, idempotencyKey, record);
    if (ofKeys.has(world.theme) && dice.chance(0.4)) time.after(dice.spread(1, 3000), () => one.act(record));
    witness.unique.accepted({ ...answer.value, input, mode, began, cancels: world.submitsCancel });
    // The newest answer is the last one.
    if (idempotencyKey === undefined) one.ids.clear();
    else one.ids.delete(record.task_id);
    one.ids.set(record.task_id, record.created_at);
  }
  return answer.got === "value" || (answer.got === "problem" && !passing.has(answer.code));
}

/** Sends a submit as the only entry of a batch, with the key of its own. */
async function submitEntry(
  { core, witness }: World,
  ports: ReturnType<typeof portsFor>,
  call: {
    identity: Identity;
    body: Record<string, unknown>;
    idempotencyKey: string | undefined;
    correlationId: string;
  },
): Promise<Accepted> {
  const { body, idempotencyKey, ...rest } = call;
  const entry = idempotencyKey === undefined ? body : { ...body, idempotency_key: idempotencyKey };
  const onBug = (error: unknown) => {
    witness.violated(`an entry of a batch threw: ${error instanceof Error ? error.stack : String(error)}`);
    return new core.problem.Problem("internal", "");
  };
  const [answer] = await core.submitBatch.submitBatch(ports, { ...rest, body: { tasks: [entry] } }, onBug);
  if (answer === undefined) throw new Error("a batch of one entry has no answer");
  if ("refused" in answer) throw answer.refused;
  return answer.accepted;
}
