import type { TaskRecord } from "../../src/core/model/record.ts";
import { type Identity, tiers } from "../../src/core/model/words.ts";
import { isAccepted, passing, pause, submitTogether } from "./batches.ts";
import { mend } from "./mend.ts";
import { drawOwnTask, familyType, type TaskPlan } from "./plans.ts";
import { flowPortsFor, portsFor } from "./ports.ts";
import { judgeLeft, judgeMove } from "./priority-laws.ts";
import { type Answer, serve } from "./serve.ts";
import { drawSignalName, hasSteps } from "./step-plans.ts";
import { submitBurst } from "./unique-clients.ts";
import type { World } from "./world.ts";

export const identities: readonly [Identity, Identity, Identity] = [
  { tenantId: "acme", principal: "ann", role: "operator" },
  { tenantId: "acme", principal: "bob", role: "submitter" },
  { tenantId: "globex", principal: "ann", role: "operator" },
];

/** A client: submits a task in its own way, then perhaps cancels it, retries it, or has it kept for longer. */
export async function client(world: World): Promise<void> {
  const { dice } = world;
  await pause(world, dice.chance(0.7) ? dice.int(0, dice.pick([20, 3000])) : dice.spread(1, 3_600_000));
  const identity = dice.pick(identities);
  const taskIds = await submitSome(world, identity);
  for (const taskId of taskIds) {
    const key = { tenant_id: identity.tenantId, task_id: taskId };
    actLater(world, key);
    if (mayWait(world, key)) signalLater(world, key);
    // While it waits for its children, no message of its own tells of its end.
    const isParent = world.table.read(key)?.type === familyType;
    if (isParent && dice.chance(0.3)) world.time.after(dice.spread(500, 60_000), () => void cancel(world, key));
  }
}

function submitSome(world: World, identity: Identity): Promise<string[]> {
  const draw = world.dice.next();
  if (draw < 0.2 || world.theme === "unique") return submitBurst(world, identity, (key) => act(world, key));
  return draw < 0.32 ? submitTogether(world, identity, drawBody) : submitAlone(world, identity);
}

async function submitAlone(world: World, identity: Identity): Promise<string[]> {
  const body = drawBody(world);
  const taskId = await (world.dice.chance(0.5)
    ? submitWithKey(world, identity, body)
    : submitOnce(world, identity, body, undefined));
  return taskId === undefined ? [] : [taskId];
}

function actLater(world: World, key: Key): void {
  const { dice, time } = world;
  const actions = dice.int(0, 2);
  for (let i = 0; i < actions; i++) {
    const atMs = dice.chance(0.6) ? dice.spread(1, 20_000) : dice.spread(1000, 10_800_000);
    time.after(atMs, () => act(world, key));
  }
}

function mayWait({ table }: World, key: Key): boolean {
  const { type = "" } = table.read(key) ?? {};
  return hasSteps(type) || type === familyType;
}

/** Sends some signals: soon, or after days. */
function signalLater(world: World, key: Key): void {
  const { dice, time } = world;
  for (let signals = dice.int(0, 4); signals > 0; signals--) {
    const atMs = dice.chance(0.5) ? dice.spread(1, 100_000) : dice.spread(1000, 4_000_000_000);
    const name = drawSignalName(dice);
    const senders = dice.chance(0.2) ? 2 : 1;
    time.after(atMs, () => {
      for (let sender = 1; sender <= senders; sender++) void sendSignal(world, key, name);
    });
  }
}

/** Sends a signal until there is an answer, sometimes again after it; sometimes with another body. */
async function sendSignal(world: World, key: Key, name: string): Promise<void> {
  const { dice } = world;
  const body = dice.chance(0.8) ? { by: "ann" } : dice.pick([null, "eve"]);
  const times = dice.chance(0.3) ? 2 : 1;
  const patience = dice.chance(0.8) ? 20 : 1;
  for (let sent = 0, tries = 0; sent < times && tries < patience; tries++) {
    const answer = await signalOnce(world, key, name, body);
    if (answer.got === "value" || (answer.got === "problem" && !passing.has(answer.code))) sent += 1;
    await pause(world, dice.spread(10, 60_000 * (tries + 1)));
  }
}

async function signalOnce(world: World, key: Key, name: string, body: unknown): Promise<Answer<TaskRecord>> {
  const life = world.witness.life(key.task_id);
  const answered = life && world.witness.steps.signalSent(life, name, body);
  const answer = await askControl(world, key, `signal ${name} ${JSON.stringify(body)} to`, (ports, record) =>
    world.core.signal.signal(ports, record, name, body),
  );
  // The task may be another one by now.
  if (answer.got === "value" && answer.value.created_at === life?.createdAt) answered?.(true);
  if (answer.got === "problem" && answer.code === "conflict") answered?.(false);
  return answer;
}

/** Does something with the task, sometimes twice at once. */
export function act(world: World, key: Key): void {
  const { dice } = world;
  const action = dice.pick([cancel, cancel, extend, extend, retry, mend, replay, discard, move, move, move]);
  for (let times = dice.chance(0.3) ? 2 : 1; times > 0; times--) void action(world, key);
  if (action === extend) void reschedule(world, key);
}

/** Waits to which a task is moved, in seconds. */
const moves = [0, 5, 60, 800, 1_800, 90_000] as const;

/**
 * Moves the time for which a task waits. The id draws the new one, as one more drawn by the dice would change every
 * world.
 */
async function reschedule(world: World, key: Key): Promise<void> {
  const record = world.table.read(key);
  if (record?.status !== "pending" || Date.parse(record.due_at) <= world.time.now) return;
  const seconds = moves[Number.parseInt(key.task_id.slice(-2), 16) % moves.length] ?? 0;
  const dueMs = world.time.now + seconds * 1000;
  await control(world, key, `reschedule by ${seconds} s`, (ports, found) =>
    world.core.reschedule.reschedule(ports, found, dueMs, true),
  );
}

/** Types in whose place tasks run in strict order, in worlds of it. */
const strictInstead: Readonly<Record<string, string>> = { placed: "strict", rated: "held", placedlong: "strict" };

/** The longest wait or pause of a task in strict order, in seconds: its line is looked at again and again meanwhile. */
export const longestTurnSeconds = 20_000;

const withinTurn = (plan: TaskPlan): TaskPlan =>
  JSON.parse(JSON.stringify(plan), (name, value) =>
    /seconds$/i.test(name) && typeof value === "number" ? Math.min(value, longestTurnSeconds) : value,
  ) as TaskPlan;

function drawPlan({ dice, theme, strict }: World): TaskPlan {
  const plan = drawOwnTask(dice, theme);
  const instead = strict ? strictInstead[plan.type] : undefined;
  return instead === undefined ? plan : withinTurn({ ...plan, type: instead });
}

function drawBody(world: World): Record<string, unknown> {
  const { dice } = world;
  const { type, tier, attempts, key } = drawPlan(world);
  return {
    type,
    // Some do not fit into a message.
    input: {
      attempts,
      ...(key === undefined ? {} : { key }),
      ...(dice.chance(0.01) ? { pad: "p".repeat(50_000) } : {}),
    },
    ...(tier === undefined ? {} : { priority: tier }),
    ...(dice.chance(0.2) ? { delay_seconds: dice.spread(1, dice.chance(0.3) ? 100_000 : 1200) } : {}),
    ...(dice.chance(0.12) ? { callback: { url: "https://receiver.example/hook" } } : {}),
    ...(dice.chance(0.3) ? { max_attempts: dice.int(1, 4) } : {}),
    ...(dice.chance(0.15) ? { expires_in_seconds: dice.spread(1, 2000) } : {}),
    ...(dice.chance(0.3) ? { retention_seconds: dice.spread(60, dice.pick([200, 100_000])) } : {}),
  };
}

async function submitOnce(
  world: World,
  identity: Identity,
  body: Record<string, unknown>,
  idempotencyKey: string | undefined,
): Promise<string | undefined> {
  const answer = await callSubmit(world, identity, body, idempotencyKey);
  return answer.got === "value" ? answer.value.task_id : undefined;
}

/** Tries again with the same key until there is an answer, perhaps from several places at once; sometimes gives up. */
async function submitWithKey(
  world: World,
  identity: Identity,
  body: Record<string, unknown>,
): Promise<string | undefined> {
  const { dice, witness } = world;
  // Few, so that principals of two tenants take the same.
  const key = `key-${dice.int(1, 4)}`;
  const ids = new Set<string>();
  const patience = dice.chance(0.8) ? Number.POSITIVE_INFINITY : dice.int(1, 3);
  const one = async () => {
    for (let tries = 0; tries < patience; tries++) {
      const answer = await callSubmit(world, identity, body, key);
      if (answer.got === "value") ids.add(answer.value.task_id);
      if (answer.got === "value" || (answer.got === "problem" && !passing.has(answer.code))) return;
      await pause(world, dice.spread(10, 60_000 * (tries + 1)));
    }
  };
  await Promise.all(Array.from({ length: dice.chance(0.3) ? dice.int(2, 4) : 1 }, one));
  if (dice.chance(0.2)) await misuse(world, identity, body, key);
  const [taskId] = ids;
  if (taskId !== undefined && dice.chance(0.3)) void useAgain(world, identity, key, taskId);
  if (ids.size > 1) witness.violated(`idempotency: one key made ${ids.size} tasks`);
  return taskId;
}

/** Once the record is gone, the key is free for another request; sometimes the client sees to it that it soon is. */
async function useAgain(world: World, identity: Identity, key: string, taskId: string): Promise<void> {
  const { dice } = world;
  if (dice.chance(0.5)) await cancel(world, { tenant_id: identity.tenantId, task_id: taskId });
  await pause(world, dice.chance(0.5) ? dice.int(60_000, 400_000) : dice.spread(60_000, 10_800_000));
  await callSubmit(world, identity, drawBody(world), key);
}

/** The same key with another request is refused, as long as the first one's record is kept. */
async function misuse(world: World, identity: Identity, body: Record<string, unknown>, key: string): Promise<void> {
  const askedAt = world.time.now;
  const answer = await callSubmit(world, identity, { ...body, tags: { other: "yes" } }, key);
  if (answer.got === "value" && Date.parse(answer.value.created_at) < askedAt - 1000) {
    world.witness.violated("idempotency: another request was taken for the same key", answer.value.task_id);
  }
}

export async function callSubmit(
  world: World,
  identity: Identity,
  body: Record<string, unknown>,
  idempotencyKey: string | undefined,
): Promise<Answer<TaskRecord>> {
  const { core } = world;
  const what = () =>
    `submit ${identity.tenantId}/${identity.principal} ${idempotencyKey ?? ""} ${JSON.stringify(body).slice(0, 300)}`;
  const answer = await serve(world, "submit", identity.tenantId, what, async (invocation) => {
    invocation.input = JSON.stringify(body.input);
    const call = { identity, body, idempotencyKey, correlationId: "correlation" };
    const { record } = await core.submit.submit(portsFor(world, invocation), call);
    return record;
  });
  if (answer.got === "value") {
    isAccepted(world, answer.value.task_id);
    world.witness.keys.answered(identity, idempotencyKey, answer.value);
  }
  return answer;
}

interface Key {
  tenant_id: string;
  task_id: string;
}

type ControlPorts = ReturnType<typeof portsFor> & ReturnType<typeof flowPortsFor>;

type ControlWork = (ports: ControlPorts, record: TaskRecord) => Promise<TaskRecord>;

async function control(world: World, key: Key, verb: string, work: ControlWork): Promise<TaskRecord | undefined> {
  const answer = await askControl(world, key, verb, work);
  return answer.got === "value" ? answer.value : undefined;
}

/** Calls a control function for a task, as its route does: the record is looked up first. */
export function askControl(world: World, key: Key, verb: string, work: ControlWork): Promise<Answer<TaskRecord>> {
  const { core, story } = world;
  const what = () => `${verb} ${story.name(key.task_id)}`;
  return serve(world, "control", key.tenant_id, what, async (invocation) => {
    const ports = { ...portsFor(world, invocation), ...flowPortsFor(world, invocation) };
    const record = await ports.records.get(key);
    if (record === undefined || !core.record.isKept(record, ports.clock.now()))
      throw new core.problem.Problem("not_found", "");
    return work(ports, record);
  });
}

export async function cancel(world: World, key: Key): Promise<void> {
  const now = world.dice.chance(0.4);
  const record = await control(world, key, now ? "cancel now" : "cancel", (ports, found) =>
    world.core.control.cancel(ports, found, { now }),
  );
  const life = world.witness.life(key.task_id);
  if (record === undefined || life === undefined) return;
  if (record.status === "cancelled") life.cancelled = true;
  else life.cancelling.add(record.round);
}

export async function retry(world: World, key: Key): Promise<void> {
  await control(world, key, "retry", world.core.control.retry);
}

export async function extend(world: World, key: Key): Promise<void> {
  const { dice, theme } = world;
  const longest = 2_592_000;
  const seconds = theme === "steps" && dice.chance(0.3) ? dice.int(longest / 2, longest) : dice.spread(60, longest);
  const askedAt = world.time.now;
  const record = await control(world, key, "extend", (ports, found) =>
    world.core.control.extend(ports, found, seconds),
  );
  const life = world.witness.life(key.task_id);
  if (record !== undefined && life !== undefined)
    life.keptUntil = Math.max(life.keptUntil, askedAt + seconds * 1000 - 1000);
}

/** Moves a task to a tier. Sends the request again while there is no answer, or after it. */
export async function move(world: World, key: Key): Promise<void> {
  const { dice } = world;
  const tier = dice.pick(tiers);
  for (let tries = dice.int(1, 3); tries > 0; tries--) {
    const answer = await askControl(world, key, `move to ${tier}:`, async (ports, record) => {
      const moved = await world.core.changePriority.changePriority(ports, record, tier);
      judgeMove(world, moved, tier);
      judgeLeft(world, moved);
      return moved;
    });
    if (answer.got === "problem" && !passing.has(answer.code)) return;
    await pause(world, dice.spread(10, 60_000));
  }
}

/** What an operation does with one of its dead letters. */
async function replay(world: World, key: Key): Promise<void> {
  await control(world, key, "replay", async (ports, record) => {
    if (record.dead_letter_at === undefined) return record;
    await world.core.actOnDeadLetter.replayOne(ports, { ...key, dead_letter_at: record.dead_letter_at });
    await world.core.requestSweep.requestSweep(ports, record.priority, "correlation");
    return record;
  });
}

/** A dead letter that holds its key: somebody decides on it in the end. */
export async function decide(world: World, { tenant_id, task_id, dead_letter_at: at }: TaskRecord): Promise<void> {
  const key = { tenant_id, task_id };
  for (;;) {
    await pause(world, world.dice.spread(1_000, 3_600_000));
    if (world.table.read(key)?.dead_letter_at !== at) return;
    await (world.dice.chance(0.5) ? discard : replay)(world, key);
  }
}

async function discard(world: World, key: Key): Promise<void> {
  await control(world, key, "discard", async (ports, record) => {
    if (record.dead_letter_at === undefined) return record;
    await world.core.actOnDeadLetter.discardOne(ports, { ...key, dead_letter_at: record.dead_letter_at });
    await world.core.requestSweep.requestSweep(ports, record.priority, "correlation");
    return record;
  });
}
