import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

/** Submits that are under way at once. */
const mostAtOnce = 10;

const pollMs = 500;

interface Task {
  task_id: string;
  status: string;
  attempts: number;
  result: unknown;
  error: string | null;
  error_kind: string | null;
}

/** A deployment, and who asks it. */
export interface Deployed {
  url: string;
  token: string;
}

/** How many tasks there are to be, and when. */
interface Load {
  /** Half of them wait for their time, half between two attempts, while the next release is deployed. */
  tasks: number;
  /** Of the former. */
  delaySeconds: number;
  /** How long all of it may take. */
  limitMs: number;
}

/** What the first release has left to the second. */
export interface Left {
  delayed: string[];
  retried: string[];
  outdated: string;
  removed: string;
  broken: string;
}

/** Gives the first release tasks that it will not finish: delayed ones, ones between two attempts, and a dead letter. */
export async function leaveTasks(to: Deployed, { tasks, delaySeconds, limitMs }: Load): Promise<Left> {
  const deadline = Date.now() + limitMs;
  const submit = async (type: string, number: number, delay_seconds = 0): Promise<string> => {
    const body = { type, input: { name: `Ada${number} Lovelace` }, delay_seconds, priority: tierOf(number) };
    return (await call<Task>(to, "/tasks", body, 202)).task_id;
  };
  const retried = await many(tasks / 2, (number) => submit("greet", number));
  const broken = await submit("greet.broken", 0);
  const delayed = await many(tasks / 2, (number) => submit("greet", number, delaySeconds));
  const outdated = await submit("greet.outdated", 0, delaySeconds);
  const removed = await submit("greet.removed", 0, delaySeconds);
  await untilAll(to, retried, deadline, ({ attempts }) => attempts > 0);
  await untilAll(to, [broken], deadline, ({ status }) => status === "failed");
  return { delayed, retried, outdated, removed, broken };
}

const tierOf = (number: number) => ["critical", "high", "normal", "low"][number % 4];

/** Looks at what became of them in the second release. */
export async function expectFinished(by: Deployed, left: Left, limitMs: number): Promise<void> {
  const deadline = Date.now() + limitMs;
  await call(by, "/dead-letters/replay", { task_ids: [left.broken] }, 202);
  const ended = ({ status }: Task) => status !== "pending" && status !== "processing" && status !== "scheduled";
  for (const ids of [left.delayed, left.retried]) {
    for (const [number, task] of (await untilAll(by, ids, deadline, ended)).entries()) {
      assert.partialDeepStrictEqual(task, { status: "completed", result: greeting(number) });
    }
  }
  const [broken] = await untilAll(by, [left.broken], deadline, ({ status }) => status === "completed");
  assert.deepEqual(broken?.result, greeting(0));
  const [outdated, removed] = await untilAll(by, [left.outdated, left.removed], deadline, ended);
  assert.partialDeepStrictEqual(outdated, {
    status: "failed",
    error_kind: "validation",
    error: "the input has version 1; this worker expects version 2 and has no step from 1",
  });
  assert.partialDeepStrictEqual(removed, {
    status: "failed",
    error_kind: "permanent",
    error: 'no task type is named "greet.removed"',
  });
  const [present] = await untilAll(by, [await submitPresent(by)], deadline, ended);
  assert.deepEqual(present?.result, greeting(7));
}

const submitPresent = async (by: Deployed): Promise<string> =>
  (await call<Task>(by, "/tasks", { type: "greet", input: { first: "Ada7", last: "Lovelace" } }, 202)).task_id;

const greeting = (number: number) => ({ greeting: `Hello Ada${number}, of the Lovelaces` });

/** Does something for each number from 0 on, some at once. */
async function many(count: number, work: (number: number) => Promise<string>): Promise<string[]> {
  const ids: string[] = [];
  const numbers = Array.from({ length: count }, (_, number) => number).values();
  const lanes = Array.from({ length: mostAtOnce }, async () => {
    for (const number of numbers) ids[number] = await work(number);
  });
  await Promise.all(lanes);
  return ids;
}

/** Polls until each task is as it should be; gives them in their order. */
async function untilAll(
  at: Deployed,
  ids: readonly string[],
  deadline: number,
  fits: (task: Task) => boolean,
): Promise<Task[]> {
  const found: Task[] = [];
  for (const id of ids) {
    let task = await call<Task>(at, `/tasks/${id}`);
    while (!fits(task)) {
      assert.ok(Date.now() < deadline, `waited in vain, after ${found.length} others, for ${JSON.stringify(task)}`);
      await sleep(pollMs);
      task = await call<Task>(at, `/tasks/${id}`);
    }
    found.push(task);
  }
  return found;
}

async function call<T>({ url, token }: Deployed, path: string, body?: unknown, status = 200): Promise<T> {
  const response = await fetch(url + path, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.equal(response.status, status, text);
  return JSON.parse(text) as T;
}
