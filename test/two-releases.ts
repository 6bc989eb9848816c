import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  checkedOut,
  fromPackage,
  fromSources,
  type Met,
  type Release,
  releaseBefore,
  startRelease,
  workBeside,
} from "./support/other-release.ts";
import { Kept } from "./two-releases/kept.ts";
import { Receiver, submitKinds } from "./two-releases/kinds.ts";

/*
 * `npm run test:releases`: the release before and this one, on one folder of a local server: side by side, then back, then forward. Tasks of many kinds
 * are in flight all the time, and write each effect into a file. No task may be lost, done twice or stand still; no limit may be exceeded; no batch may
 * end with an error. `-- whole` has ten times as many tasks (for the night); `-- short` waits for an hour where the others wait for three days; `-- packed` runs both as their users have them, installed from the packed package; `-- --before <commit>` names the other release.
 */

const root = resolve(import.meta.dirname, "..");
const args = process.argv.slice(2);
const size = args.includes("whole") ? 10 : 1;
/** Longest waits of tasks, in seconds. A moved clock makes each minute of them on its way. */
const longSeconds = args.includes("short") ? 45 * 60 : 2 * 86_400;
const commit = args.includes("--before") ? String(args[args.indexOf("--before") + 1]) : releaseBefore();
const folder = mkdtempSync(join(tmpdir(), "offload-two-releases-"));
const releaseOf = (sources: string, name: string): Release =>
  args.includes("packed") ? fromPackage(sources, join(folder, name)) : fromSources(sources);
const before = releaseOf(checkedOut(commit, join(folder, "sources")), "before");
const present = releaseOf(root, "present");
const effectsFile = join(folder, "effects.jsonl");
const environmentFile = join(folder, "environment.json");
const say = (text: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);

const freePort = (): Promise<number> =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => done(port));
    });
  });

const ports = await Promise.all([freePort(), freePort(), freePort()]);
const receiver = new Receiver();
const hook = await receiver.start();
const common = {
  PORT: String(ports[0]),
  OFFLOAD_DYNAMODB_PORT: String(ports[1]),
  OFFLOAD_SQS_PORT: String(ports[2]),
  OFFLOAD_STATE_DIR: join(folder, "state"),
  EFFECTS_FILE: effectsFile,
  OFFLOAD_CALLBACK_HOSTS: new URL(hook).host,
};
const url = `http://127.0.0.1:${ports[0]}`;
writeFileSync(effectsFile, "");

interface Task {
  task_id: string;
  type: string;
  status: string;
  run_at: string | null;
  started_at: string | null;
}

async function ask(method: string, path: string, body?: object, more: Record<string, string> = {}): Promise<string> {
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: "Bearer dev-acme", "content-type": "application/json", ...more },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text;
}

async function call<T>(method: string, path: string, body?: object, key = "dev-acme"): Promise<T> {
  const text = await ask(method, path, body, { authorization: `Bearer ${key}` });
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

const kept = new Kept(call, ask);

/** The ids of all tasks, by the name of their group. */
const groups = new Map<string, string[]>();

async function submit(group: string, type: string, inputs: readonly object[], more: object = {}, key?: string) {
  for (let from = 0; from < inputs.length; from += 100) {
    const tasks = inputs.slice(from, from + 100).map((input) => ({ type, input, ...more }));
    const { tasks: answers } = await call<{ tasks: Task[] }>("POST", "/tasks/batch", { tasks }, key);
    for (const answer of answers) assert.ok(answer.task_id, `${type} was refused: ${JSON.stringify(answer)}`);
    groups.set(group, [...(groups.get(group) ?? []), ...answers.map(({ task_id }) => task_id)]);
  }
}

const many = (count: number, input: (n: number) => object) => Array.from({ length: count * size }, (_, n) => input(n));
const pad = "p".repeat(600);
const padOf = (n: number) => (n % 3 === 0 ? "" : n % 3 === 1 ? pad : "P".repeat(20_000));

/** Work of many kinds. */
async function fill(round: string): Promise<void> {
  await submit(
    `${round} delayed`,
    "two.echo",
    many(6, (n) => ({ n })),
    { delay_seconds: 25 },
  );
  await submit(
    `${round} retried`,
    "two.echo",
    many(4, (n) => ({ n, fails: 1 + (n % 2) })),
  );
  await submit(
    `${round} steps`,
    "two.steps",
    many(3, (n) => ({ sleeps: [1, 5 + n, 20] })),
  );
  await submit(
    `${round} parents`,
    "two.parent",
    many(1, () => ({ children: 8 })),
  );
  await submit(
    `${round} places`,
    "two.keyed",
    many(60, (n) => ({ key: "k", ms: 1_500, pad: padOf(n) })),
  );
  await submit(
    `${round} starts`,
    "two.rated",
    many(12, (n) => ({ n, pad: padOf(n) })),
  );
  await submit(
    `${round} paused type`,
    "two.paused",
    many(40, (n) => ({ n, pad: padOf(n) })),
  );
  await submit(
    `${round} paused tenant`,
    "two.echo",
    many(10, (n) => ({ n, pad: padOf(n) })),
    {},
    "dev-globex",
  );
  await submit(`${round} debounced`, "two.echo", [{ n: 1 }], {
    unique: { key: round, mode: "debounce", wait_seconds: 15, max_wait_seconds: 60 },
  });
  await submitKinds({ call, submit, round, size, hook, longSeconds });
  for (const id of of(`${round} never: cancelled`)) await call("POST", `/tasks/${id}/cancel`);
}

const effects = () =>
  readFileSync(effectsFile, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { at: number; release: string; task: string; what: string; key?: string });

/** Waits until each of these tasks has its effect. */
async function untilDone(ids: readonly string[], what: string, seconds: number): Promise<void> {
  const untilMs = Date.now() + seconds * 1000;
  for (;;) {
    const done = new Set(effects().flatMap((one) => (one.what === "run" ? one.task : [])));
    const left = ids.filter((id) => !done.has(id));
    if (left.length === 0) return say(`${what}: all ${ids.length} done`);
    assert.ok(Date.now() < untilMs, `${what}: ${left.length} of ${ids.length} stand still, such as ${left[0]}`);
    await sleep(500);
  }
}

/** Tasks that wait for longer than this test. */
const isLong = (group: string): boolean => group.includes("long delay") || group.includes("long sleep");

/** Tasks that end before they start. */
const isNever = (group: string): boolean => group.includes("never");

const mustRun = () => [...groups].flatMap(([name, ids]) => (isNever(name) ? [] : ids));

const of = (...names: string[]) => names.flatMap((name) => groups.get(name) ?? []);

/** No task with a time of its own has started before it. */
async function checkTimes(): Promise<void> {
  const timed = [...groups].filter(([name]) => /delay|tags|webhook|large input|replaced|existing|high|low/.test(name));
  let checked = 0;
  for (const id of new Set(timed.flatMap(([, ids]) => ids))) {
    const { run_at, started_at } = await call<Task>("GET", `/tasks/${id}`);
    if (run_at === null || started_at === null) continue;
    assert.ok(started_at >= run_at, `${id} was due at ${run_at}, and started at ${started_at}`);
    checked += 1;
  }
  say(`times as planned: ${checked}`);
  assert.ok(checked > 20);
}

/** Waits until each webhook has arrived. */
async function untilTold(seconds: number): Promise<void> {
  const ids = [...groups].flatMap(([name, all]) => (name.endsWith("webhook") ? all : []));
  for (let tries = 0; tries < 2 * seconds && ids.some((id) => receiver.count(id) === 0); tries++) await sleep(500);
}

function checkEffects(): void {
  const all = effects();
  const counts = new Map<string, number>();
  for (const { task, what } of all) counts.set(`${task} ${what}`, (counts.get(`${task} ${what}`) ?? 0) + 1);
  // An attempt that a stop ended begins again.
  const doubled = [...counts].filter(([name, count]) => count > 1 && !name.endsWith(" begin"));
  const lost = mustRun().filter((id) => !counts.has(`${id} run`));
  const wrong = [...groups]
    .flatMap(([name, ids]) => (isNever(name) ? ids : []))
    .filter((id) => counts.has(`${id} run`));
  const untold = [...groups]
    .flatMap(([name, ids]) => (name.endsWith("webhook") ? ids : []))
    .filter((id) => receiver.count(id) === 0);
  const open = new Set<string>();
  const mostOf = (limited: string) => {
    let most = 0;
    for (const { task, what } of all.filter(({ key }) => key === limited)) {
      if (what === "begin") open.add(task);
      else open.delete(task);
      most = Math.max(most, open.size);
    }
    return most;
  };
  const [most, widest] = [mostOf("k"), mostOf("w")];
  const rated = new Set([...groups].flatMap(([name, ids]) => (name.endsWith("starts") ? ids : [])));
  const starts = all.flatMap(({ at, task }) => (rated.has(task) ? at : [])).sort((a, b) => a - b);
  const dense = Math.max(...starts.map((from) => starts.filter((at) => at >= from && at < from + 5_000).length));
  const by = Object.groupBy(all, ({ release }) => release);
  say(
    `effects ${all.length}: ${Object.entries(by)
      .map(([name, list]) => `${name} ${list?.length}`)
      .join(", ")}`,
  );
  say(
    `groups ${groups.size}, tasks ${new Set([...groups.values()].flat()).size}, lost ${lost.length}, doubled ${doubled.length}`,
  );
  say(
    `most attempts at once: ${most} of a limit of 20, ${widest} of a limit of 40; most starts of one a second within 5 s: ${dense}`,
  );
  for (const release of ["before", "before beside", "present"])
    assert.ok((by[release]?.length ?? 0) > 20, `the release "${release}" has done next to nothing`);
  assert.deepEqual({ lost, doubled, wrong, untold }, { lost: [], doubled: [], wrong: [], untold: [] });
  assert.ok(most <= 20 && widest <= 40, `${most} attempts of a limit of 20, ${widest} of a limit of 40`);
  // A start that comes late on a busy machine is nearer to the next one, and to the one after that.
  assert.ok(dense <= 7, `${dense} starts of a rate of one a second within 5 s`);
}

const startPresent = () =>
  startRelease(present, { ...common, EFFECTS_RELEASE: "present", EFFECTS_ENVIRONMENT: environmentFile });
const startBefore = () => startRelease(before, { ...common, EFFECTS_RELEASE: "before" });

/** Workers of the release before work beside those of this one. */
async function sideBySide(seconds: number): Promise<void> {
  // A worker of the server writes it with the first task.
  for (let tries = 0; tries < 300 && !existsSync(environmentFile); tries++) await sleep(100);
  const environment = JSON.parse(readFileSync(environmentFile, "utf8")) as Record<string, string>;
  const more = { EFFECTS_RELEASE: "before beside" };
  const met = await Promise.all(
    ["normal", "high"].map((tier): Promise<Met> => workBeside(before, tier, { environment, seconds, more })),
  );
  const thrown = met.flatMap((one) => one.thrown);
  say(`beside: ${met.reduce((sum, { messages }) => sum + messages, 0)} messages, ${thrown.length} batches thrown`);
  assert.deepEqual(thrown, []);
}

async function run(): Promise<void> {
  writeFileSync(`${effectsFile}.down`, "");
  let server = await startPresent();
  try {
    say(`the release before is ${commit}`);
    await call("POST", "/types/two.paused/pause", {});
    await call("POST", "/tenants/globex/pause", {}, "dev-globex");
    await kept.make(hook);
    groups.set("kept", kept.tasks);
    await submit(
      "dead",
      "two.dead",
      many(10, (n) => ({ n })),
    );
    await fill("side by side");
    await sideBySide(20);
    await server.stop();
    say("back");
    server = await startBefore();
    await fill("back");
    await call("POST", "/types/two.paused/resume", {});
    await untilDone(
      of("side by side paused type", "back paused type"),
      "the pause of a type, resumed after the roll-back",
      60,
    );
    await call("POST", "/types/two.paused/pause", {});
    await submit(
      "paused on the way",
      "two.paused",
      many(20, (n) => ({ n, pad: padOf(n) })),
    );
    await sleep(5_000);
    await server.stop();
    say("forward");
    server = await startPresent();
    rmSync(`${effectsFile}.down`);
    await call("POST", "/dead-letters/replay", { filter: { type: "two.dead" } });
    await call("POST", "/types/two.paused/resume", {});
    await call("POST", "/tenants/globex/resume", {}, "dev-globex");
    await kept.goOn();
    await submit("file of an earlier upload", "two.file", [{}], { files: { doc: kept.upload } });
    const signalled = ["side by side", "back"].flatMap((round) =>
      ["steps", "wait for a signal", "tries", "long sleep"].map((one) => `${round} ${one}`),
    );
    for (const id of of(...signalled)) await call("POST", `/tasks/${id}/signals/go`, { ok: true });
    const waited = [...groups.keys()].filter((name) => !isNever(name));
    for (const name of waited.filter((one) => !isLong(one))) await untilDone(of(name), name, 120);
    await untilTold(60);
    await kept.check();
    await kept.endSchedules();
    say(`${1.5 * longSeconds} s later`);
    await call("POST", "/_local/clock", { advance_seconds: 1.5 * longSeconds });
    for (const name of waited.filter(isLong)) await untilDone(of(name), name, 60);
    await checkTimes();
  } catch (error) {
    say(`the server's last lines:\n${server.said().slice(-3_000)}`);
    throw error;
  } finally {
    await server.stop();
  }
  checkEffects();
}

try {
  await run();
  say("no task lost, doubled or standing still; no limit exceeded; no batch thrown");
} finally {
  receiver.stop();
  rmSync(folder, { recursive: true, force: true });
}
