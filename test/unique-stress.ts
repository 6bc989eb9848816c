import { randomUUID } from "node:crypto";
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startTable } from "../src/local/dynamodb/table.ts";
import { type Accepted, type Answer, Client, type Task } from "./support/http-client.ts";
import { startOwnServer } from "./support/local-server.ts";

/*
 * Looks for two tasks of one unique key: rounds of twenty submits at once to a local server, whose table answers 503, gets no request or gives no answer, at
 * random. A submit that is answered with 503 is sent again, as clients do. Three kinds of rounds: the task waits; it ends at once; it is cancelled meanwhile.
 * Ends with exit code 1 when two tasks of a key were open at the same time.
 *
 *     npm run test:unique -- --minutes 3 --faults 0.3
 */

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "3" },
    faults: { type: "string", default: "0.3" },
    submits: { type: "string", default: "20" },
  },
});
const submits = Number(values.submits);

let faults = 0;
const counts = {
  ...{ rounds: 0, accepted: 0, refused: 0, tasks: 0, leftOver: 0 },
  ...{ refusals: 0, noRequest: 0, noAnswer: 0, calls: 0 },
};

/** Passes a request on to the table, or not, or its answer. */
async function pass(table: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request);
  counts.calls++;
  const luck = Math.random() / (faults || Number.EPSILON);
  if (luck < 0.4) {
    counts.refusals++;
    response.writeHead(503, { "content-type": "application/x-amz-json-1.0" }).end('{"__type":"ServiceUnavailable"}');
    return;
  }
  if (luck < 0.6) {
    counts.noRequest++;
    response.destroy();
    return;
  }
  const { method, url: path, headers } = request;
  const sent = forward(new URL(path ?? "/", table), { method, headers }, async (answer) => {
    const bytes = await buffer(answer);
    if (luck < 1) {
      counts.noAnswer++;
      response.destroy();
    } else response.writeHead(answer.statusCode ?? 502, answer.headers).end(bytes);
  });
  sent.on("error", () => response.destroy());
  sent.end(body);
}

const other = process.env.OFFLOAD_TEST_DYNAMODB;
const own = other === undefined ? await startTable({ port: 0, stateDir: undefined }) : undefined;
const table = new URL(other ?? own?.url ?? "");
const proxy = createServer((request, response) => void pass(table, request, response).catch(() => response.destroy()));
await new Promise<void>((ready) => proxy.listen(0, "127.0.0.1", ready));
process.env.OFFLOAD_TEST_DYNAMODB = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
const server = await startOwnServer({ OFFLOAD_PROBES: "1" });
const operator = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });

/** Sends a request until it is answered with something else than 5xx, or a refusal of too many requests. */
async function answered(send: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await send();
    if (answer.status < 500 && answer.status !== 429) return answer;
    counts.refused++;
    await sleep(Math.random() * 300);
  }
}

async function accepted(body: object): Promise<string> {
  const answer = await answered(() => operator.post("/tasks", body));
  if (answer.status !== 202) throw new Error(`a submit was answered with ${answer.status}: ${answer.text}`);
  counts.accepted++;
  return answer.json<Accepted>().task_id;
}

/** Reads all tasks of a round, also those that no submit was answered with. The table answers from here on. */
async function tasksOf(round: string, ids: ReadonlySet<string>): Promise<Task[]> {
  faults = 0;
  const listed = await answered(() => operator.get(`/tasks?tag.round=${round}&limit=100`));
  const found = listed.json<{ tasks: Task[] }>().tasks.map(({ task_id }) => task_id);
  const all = [...new Set([...found, ...ids])];
  return Promise.all(all.map(async (id) => (await answered(() => operator.get(`/tasks/${id}`))).json<Task>()));
}

const isOpen = ({ finished_at }: Task): boolean => finished_at === null;

const cancel = (id: string) => answered(() => operator.post(`/tasks/${id}/cancel`));

/**
 * The tasks that had the key, without those that a submit left over: it lost the key to another one, was answered with
 * 503, and the table refused to withdraw its task. Nobody knows of such a task, it has no message, and the daily look
 * for lost tasks withdraws it.
 */
function withoutLeftOver(tasks: readonly Task[], answers: ReadonlySet<string>): Task[] {
  const known = tasks.filter((task) => answers.has(task.task_id) || task.started_at !== null);
  counts.tasks += known.length;
  counts.leftOver += tasks.length - known.length;
  return known;
}

/** Waits until the tasks of a round that had the key have ended. */
async function endOf(round: string, ids: ReadonlySet<string>): Promise<Task[]> {
  for (let look = 0; look < 600; look++) {
    const tasks = await tasksOf(round, ids);
    if (!tasks.some((task) => isOpen(task) && ids.has(task.task_id))) return withoutLeftOver(tasks, ids);
    await sleep(300);
  }
  throw new Error(`tasks of round ${round} have not ended within 180 s`);
}

/** Pairs of tasks that ran, or waited, at the same time. A task of a free key starts after the end of the one before. */
function overlapping(tasks: readonly Task[]): string[] {
  const ran = tasks.filter(({ started_at }) => started_at !== null);
  ran.sort((a, b) => Date.parse(a.started_at ?? "") - Date.parse(b.started_at ?? ""));
  return ran.slice(1).flatMap((task, index) => {
    const before = ran[index] as Task;
    const apart = Date.parse(task.started_at ?? "") >= Date.parse(before.finished_at ?? "");
    return apart
      ? []
      : [`${task.task_id} started at ${task.started_at}, ${before.task_id} ended at ${before.finished_at}`];
  });
}

/** The kinds of rounds. Each returns what is wrong. */
const kinds: Record<string, (round: string, body: object) => Promise<string[]>> = {
  waits: async (round, body) => {
    const ids = new Set(await atOnce(() => accepted({ ...body, delay_seconds: 3_600 })));
    const open = withoutLeftOver(await tasksOf(round, ids), ids).filter(isOpen);
    await Promise.all(open.map(({ task_id }) => cancel(task_id)));
    return ids.size === 1 && open.length === 1 ? [] : [`${ids.size} answers and ${open.length} open tasks of one key`];
  },
  ends: async (round, body) => {
    const ids = await atOnce(async () => {
      await sleep(Math.random() * 400);
      return accepted(body);
    });
    return overlapping(await endOf(round, new Set(ids)));
  },
  cancelled: async (round, body) => {
    const waiting = { ...body, delay_seconds: 3_600 };
    const first = await accepted(waiting);
    const [ids] = await Promise.all([
      atOnce(() => accepted(waiting)),
      sleep(Math.random() * 100).then(() => cancel(first)),
    ]);
    const known = new Set([first, ...ids]);
    const tasks = withoutLeftOver(await tasksOf(round, known), known);
    const open = tasks.filter(isOpen);
    await Promise.all(open.map(({ task_id }) => cancel(task_id)));
    return open.length <= 1 && tasks.length <= 2
      ? []
      : [`${open.length} open tasks, ${tasks.length} in all, of one key`];
  },
};

const atOnce = <T>(act: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: submits }, act));

const wrong: string[] = [];
const until = Date.now() + Number(values.minutes) * 60_000;
try {
  while (Date.now() < until) {
    for (const [kind, play] of Object.entries(kinds)) {
      const round = randomUUID();
      faults = Number(values.faults);
      const body = { type: "probe.echo", input: { value: 1 }, unique: { key: round }, tags: { round } };
      wrong.push(...(await play(round, body)).map((text) => `round ${round} (${kind}): ${text}`));
      counts.rounds++;
    }
  }
} finally {
  faults = 0;
  console.log(JSON.stringify(counts));
  for (const line of wrong) console.log(line);
  console.log(wrong.length === 0 ? "No key had two tasks at the same time." : `${wrong.length} rounds are wrong.`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
  await server.stop();
  proxy.closeAllConnections();
  proxy.close();
  await own?.close();
}
