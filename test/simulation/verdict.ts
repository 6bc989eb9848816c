import { systemTenant } from "../../src/core/model/internal-names.ts";
import type { Attempt, TaskRecord } from "../../src/core/model/record.ts";
import { isTerminal, type Status } from "../../src/core/model/words.ts";
import { isChildOf } from "../../src/core/pipeline/end/child-results.ts";
import type { Part } from "../../src/core/ports/tasks.ts";
import { judgeLetters } from "./dead-letters.ts";
import type { Claim, Life } from "./lives.ts";
import { familyType, lostType } from "./plans.ts";
import type { World } from "./world.ts";

/** When everything has come to rest: what must be true of every task, and of every queue. */
export async function judge(world: World): Promise<void> {
  const { queues, schedules, witness } = world;
  for (const { queue, id } of queues.left()) witness.violated(`the message m${id} is left in ${queue}`);
  if (schedules.size > 0) witness.violated(`${schedules.size} schedules are left`);
  await judgeLines(world);
  for (const life of witness.lives.values()) if (!life.purged) judgeTask(world, life);
  witness.lists.judge();
  judgeDead(world);
  judgeLetters(world);
  judgeTold(world);
  await judgeWebhooks(world);
  judgeCosts(world);
  world.jobs.judge();
}

/** Nobody is left in a line, but a second message of a task that has ended. */
async function judgeLines({ lines, table, witness, core, time }: World): Promise<void> {
  for (const line of lines.names) {
    for (const { tenantId, taskId } of await lines.first(line, 1_000)) {
      const record = table.read({ tenant_id: tenantId, task_id: taskId });
      if (record !== undefined && core.record.isKept(record, time.now) && !core.record.hasEnded(record, time.now))
        witness.violated(`it waits in ${line} for ever`, taskId);
    }
  }
}

/** Each end that has a subscriber is told, with what is true of it, and hardly ever twice. */
function judgeTold({ witness, weather, outages }: World): void {
  // A repeat follows a fault, another message of the task, or a client that starts another round. Two cancels at one time
  // both tell of the end, as the one-off of a start does that comes after it.
  const spare = outages.count > 0 ? Number.POSITIVE_INFINITY : 3 + weather.used + witness.costs.deaths;
  // The end of a child that is replayed closes its parent's family again.
  const receives = (taskId: string) =>
    witness.costs.receivesOf([taskId, ...(witness.life(taskId)?.children.values() ?? [])]);
  const most = (taskId: string) => spare + 2 * receives(taskId) + witness.costs.clientSendsOf(taskId);
  // A task that nobody knows of may have no message, with which its end would be told.
  const accepted = (taskId: string) => witness.life(taskId)?.accepted === true;
  for (const { text, taskId } of witness.told.broken(most, accepted)) witness.violated(text, taskId);
}

/** Each webhook is delivered or given up. A death after a request costs one more request, and so does a slow receiver's place. */
async function judgeWebhooks({ witness, weather, outages, stage }: World): Promise<void> {
  if (outages.count > 0) return;
  if (stage.left > 0) witness.violated(`${stage.left} notices are left`);
  const spare = 30 + weather.used;
  const broken = await Promise.all([
    witness.told.brokenWebhooks(stage.deliveries, spare),
    witness.told.receivers.broken(stage.deliveries, stage.receivers),
  ]);
  for (const { text, taskId } of broken.flat()) witness.violated(text, taskId);
}

/** No task costs more requests than its attempts, the world's faults and its neighbours' crashes explain. */
function judgeCosts(world: World): void {
  const { witness, weather, outages } = world;
  // An outage of hours uses up receives again and again. A line is looked at each day.
  if (outages.count > 0 || world.theme === "weeks" || world.theme === "handlers") return;
  const excuses = { troubles: weather.used, deaths: witness.costs.deaths };
  if (world.theme === "behind" && excuses.troubles + excuses.deaths === 0) judgeMessages(world);
  const parentClaims = new Map<string, number>();
  for (const parent of witness.lives.values()) {
    for (const child of parent.children.values()) parentClaims.set(child, parent.claims.length);
  }
  for (const { taskId, tenantId, claims, purged, children } of witness.lives.values()) {
    if (purged) continue;
    // Each letter of a discarded task requests the sweep of its DLQ.
    const letters = tenantId === systemTenant ? witness.deadLettered : 0;
    const family = {
      parentClaims: parentClaims.get(taskId) ?? 0,
      childReceives: witness.costs.receivesOf(children.values()) + letters,
    };
    const broken = witness.costs.broken(taskId, claims.length, family, excuses);
    for (const text of broken) witness.violated(text, taskId);
  }
}

/**
 * A task that waits for a place has two messages for each attempt: that of its submit or retry, and the spare one. A
 * worker's successor has one after five tasks.
 */
function judgeMessages({ witness, queues }: World): void {
  const attempts = [...witness.lives.values()].reduce((sum, { claims }) => sum + claims.length, 0);
  if (queues.sent > 2 * attempts) witness.violated(`${queues.sent} messages were sent for ${attempts} attempts`);
  const { successors } = witness.flow;
  if (successors > attempts / 5) witness.violated(`${successors} successors were sent for ${attempts} attempts`);
}

/** True for a list whose submit died before its first input: it has nothing for a handler. */
const isEmptyList = ({ witness }: World, record: TaskRecord): boolean =>
  record.collects !== undefined && !witness.lists.isHandled(record);

/** True for a task whose result its handler returned. */
const hasOwnResult = (world: World, record: TaskRecord): boolean =>
  record.family_counts === undefined && record.caused_by === undefined && !isEmptyList(world, record);

/** True for a task that no handler takes. */
const isForNone = (world: World, record: TaskRecord): boolean =>
  record.type === lostType || (record.status === "completed" && isEmptyList(world, record));

function judgeTask(world: World, life: Life): void {
  const { core, table, time, witness } = world;
  const record = table.read({ tenant_id: life.tenantId, task_id: life.taskId });
  const law = (holds: boolean, text: string) => {
    if (!holds) witness.violated(text, life.taskId);
  };
  if (record === undefined) {
    law(false, "promise 1: its record is gone");
    return;
  }
  const status = core.record.statusAt(record, core.record.iso(time.now));
  const ended = core.status.isTerminal(status);
  law(ended || !life.accepted, `promise 1: accepted, and ${status} for ever`);
  if (status === "expired") law(life.claims.length === 0, "an expired task was run");
  judgeCancelled(life, record, status, law);
  if (ended && record.retained_until !== undefined) {
    law(
      Date.parse(record.retained_until) >= life.keptUntil,
      `kept until ${record.retained_until}, and more was promised`,
    );
  }
  if (status === "failed" && core.record.isKept(record, time.now)) judgeFailed(world, life, record, law);
  if (ended && record.type === familyType) judgeFamily(world, record, law);
  if (status === "completed" && life.tenantId !== systemTenant && hasOwnResult(world, record))
    law(JSON.stringify(resultOf(world, record)).includes(`"attempt":${record.attempts}`), "another attempt's result");
  if (record.error_type === "Undeliverable")
    law(world.weather.used > 0 || witness.costs.deaths > 0, "a healthy task was given up as undeliverable");
  if (!isForNone(world, record)) judgeClaims(life.claims, law);
  const attempts = attemptsOf(world, record);
  if (record.status !== "processing") judgeHistory(life.claims, attempts, law);
  judgeStacks(life, attempts, (part) => table.loadPart(record, part), law);
}

function judgeCancelled(life: Life, record: TaskRecord, status: Status, law: Law): void {
  if (life.cancelled) law(status === "cancelled", `a cancelled task is ${status}`);
  if (!life.cancelling.has(record.round)) return;
  law(status === "cancelled" || !isTerminal(status), `a task that was to be cancelled is ${status}`);
}

/** The numbers of a closed family are exact. That each accepted child ends is promise 1. */
function judgeFamily({ table, witness }: World, parent: TaskRecord, law: Law): void {
  const counts = parent.family_counts;
  const lives = [...witness.lives.values()];
  if (lives.some(({ purged }) => purged)) return;
  const children = lives
    .map(({ tenantId, taskId }) => table.read({ tenant_id: tenantId, task_id: taskId }))
    .filter((record) => record?.parent_id === parent.task_id && isChildOf(record, parent));
  law(counts !== undefined || parent.status !== "completed" || children.length === 0, "family: it is not counted");
  if (counts === undefined) return;
  const { completed, failed, cancelled, expired } = counts;
  const total = completed + failed + cancelled + expired;
  law(total === children.length, `family: the numbers say ${total} children, there are ${children.length}`);
  const begunAt = parent.history[0]?.started_at ?? "";
  const leftOut = children.filter(
    (child) =>
      child?.status !== "completed" &&
      child?.round === 1 &&
      (child.family_round ?? 0) < parent.round &&
      (child.finished_at ?? begunAt) < begunAt,
  );
  law(leftOut.length === 0, `family: its round ${parent.round} left ${leftOut.length} failed children as they were`);
  if (parent.error_kind === "children_failed") law(completed < 0.4 * total, "family: failed above its threshold");
  if (parent.status === "completed") law(completed >= 0.4 * total, "family: completed below its threshold");
}

/** A handler starts after each claim that its worker knows of, also where the claim's first answer was lost. */
function judgeClaims(claims: readonly Claim[], law: Law): void {
  for (const { known, started, readFirst, suspended, total, by } of claims) {
    const couldNotRead = readFirst && by.troubledUntil > 0;
    // What comes before the claim may have taken its time: then the task is given back.
    const tooLate = suspended && by.troubledUntil > 0;
    const never = known && !started && !couldNotRead && !tooLate && by.process.alive && !by.process.stood;
    law(!never, `attempt ${total} was claimed, and its handler never started`);
  }
}

type Law = (holds: boolean, text: string) => void;

/** A result in the bucket that is not there is no text of an attempt. */
function resultOf({ table, blobs }: World, record: TaskRecord): unknown {
  const { result_ref: reference } = record;
  if (reference === undefined) return record.result;
  const { blob, part } = reference;
  const text = blob === undefined ? table.loadPart(record, `result#${part}`) : Buffer.from(blobs.peek(blob) ?? "null");
  return JSON.parse(String(text));
}

/** Every attempt of every round, from where they are kept. */
function attemptsOf({ table }: World, record: TaskRecord): Attempt[] {
  const rounds = Array.from({ length: record.round - 1 }, (_, index) => table.loadPart(record, `round#${index + 1}`));
  return [...rounds.flatMap((round) => (round as Attempt[] | undefined) ?? []), ...record.history];
}

/** No attempt vanishes: what was claimed and not suspended is in the history, in order, each with its outcome. */
function judgeHistory(all: readonly Claim[], attempts: readonly Attempt[], law: Law): void {
  const claims = all.filter(({ suspended }) => !suspended);
  const started = claims.map(({ round, number }) => `${round}/${number}`).join(" ");
  const told = attempts.map(({ round, number }) => `${round}/${number}`).join(" ");
  law(started === told, `promise 3: started ${started || "nothing"}, and the history tells ${told || "nothing"}`);
}

/** Each failed attempt has the stack that it failed with, in its entry, in that of another attempt, or beside the record. */
function judgeStacks({ stacks }: Life, attempts: readonly Attempt[], load: (part: Part) => unknown, law: Law): void {
  for (const attempt of attempts) {
    const { round, number, stack_of = number } = attempt;
    const holder = attempts.find((one) => one.round === round && one.number === stack_of);
    const stack = holder?.stack ?? (attempt.stack_of && load(`stack#${round}#${stack_of}`));
    law(stack === stacks.get(`${round}/${number}`), `promise 3: attempt ${round}/${number} has not its stack`);
  }
}

function judgeFailed({ queues, witness }: World, life: Life, record: TaskRecord, law: Law): void {
  // The reconciliation has ended a child that never had a message: no letter could have its input.
  const hadMessage = life.claims.length > 0 || witness.costs.wasSent(life.taskId);
  if (life.discarded || !hadMessage) return;
  law(record.dead_letter_at !== undefined, "failed, and not among the dead letters");
  law(record.buried_at !== undefined, "failed, and not known to be dead-lettered");
  const letters = queues.dead.filter(
    (dead) =>
      "letter" in dead &&
      typeof dead.letter.original_message !== "string" &&
      dead.letter.original_message.task_id === record.task_id &&
      dead.letter.last_failed_at === record.dead_letter_at,
  );
  law(letters.length > 0, "failed, and its DLQ has no letter");
}

/** Every message of a DLQ is final, and was put there on purpose. */
function judgeDead({ queues, witness }: World): void {
  for (const dead of queues.dead) {
    if ("body" in dead) witness.violated(`redrive gave up on a message: ${dead.body.slice(0, 200)}`);
  }
  const whole = queues.dead.filter((dead) => "letter" in dead && typeof dead.letter.original_message === "string");
  if (whole.length < witness.garbage) witness.violated("a message that nobody can read is in no DLQ");
}
