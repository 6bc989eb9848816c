import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, type TestContext, test, vi } from "vitest";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";

const headers = { authorization: "Bearer dev-acme", "content-type": "application/json" };

async function call<T>({ url }: OwnServer, path: string, body?: object): Promise<T> {
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(url + path, { headers, ...init });
  return (await response.json()) as T;
}

const submit = async (to: OwnServer, delay_seconds = 0): Promise<string> => {
  const body = { type: "probe.echo", input: { value: "kept" }, delay_seconds };
  return (await call<{ task_id: string }>(to, "/tasks", body)).task_id;
};

const statusOf = async (at: OwnServer, id: string) => (await call<{ status: string }>(at, `/tasks/${id}`)).status;

/** A state folder, and a function that starts a server on it. */
function setUp({ onTestFinished, onTestFailed }: TestContext) {
  const stateDir = mkdtempSync(join(tmpdir(), "offload-state-"));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const start = async () => {
    const server = await startOwnServer({ OFFLOAD_STATE_DIR: stateDir });
    onTestFinished(() => server.stop());
    onTestFailed(() => console.error(server.output()));
    return server;
  };
  const file = (name: string) => join(stateDir, name);
  const empty = (name: string) => {
    for (const each of readdirSync(stateDir)) if (each.startsWith(name)) rmSync(file(each));
    writeFileSync(file(name), "");
  };
  return { stateDir, start, file, empty };
}

test.each(["/proc/offload/state", "/proc"])(
  "a state folder %s, which cannot be written, ends the start with one line",
  async (dir) => {
    const start = startOwnServer({ OFFLOAD_STATE_DIR: dir });
    await expect(start).rejects.toThrow(
      /ended at its start \(code 1\):\noffload: Could not open \/proc\/.*table\.lock.*$/,
    );
  },
);

test("open tasks are sent again after queues.db was emptied", async (context) => {
  const { start, file, empty } = setUp(context);
  const first = await start();
  const ended = await submit(first);
  await vi.waitFor(async () => expect(await statusOf(first, ended)).toBe("completed"), {
    timeout: 300_000,
    interval: 250,
  });
  const delayed = [await submit(first, 4), await submit(first, 4)];
  const later = await submit(first, 3600);
  await first.stop();
  empty("queues.db");

  const second = await start();
  expect(second.output()).toContain(`${file("queues.db")} was missing or empty`);
  expect(second.output()).toContain(`Open tasks without a message in ${file("queues.db")}: 2. They are sent again.`);
  for (const id of delayed) {
    await vi.waitFor(async () => expect(await statusOf(second, id)).toBe("completed"), {
      timeout: 300_000,
      interval: 250,
    });
  }
  expect(await statusOf(second, later)).toBe("scheduled");
  await second.stop();
  const third = await start();
  expect(third.output()).not.toMatch(/missing|sent again/);
});

test("open tasks whose input is gone are named with the files", async (context) => {
  const { start, file, empty } = setUp(context);
  const first = await start();
  const id = await submit(first, 800);
  await first.stop();
  empty("queues.db");
  empty("envelopes.db");
  const second = await start();
  expect(second.output()).toContain(`without their input in ${file("envelopes.db")}: 1 (${id})`);
  await call(second, `/tasks/${id}/cancel`, {});
  expect(await statusOf(second, id)).toBe("cancelled");
});

test("long waits and schedules go on after schedules.db was emptied", async (context) => {
  const { start, file, empty } = setUp(context);
  const first = await start();
  const waiting = await submit(first, 3600);
  const schedule = { name: "tick", cron: "30 3 1 1 *", task: { type: "probe.echo", input: { value: "tick" } } };
  const created = await call<{ schedule_id: string }>(first, "/schedules", schedule);
  expect(created.schedule_id).toBeDefined();
  await first.stop();
  empty("schedules.db");

  const second = await start();
  expect(second.output()).toContain(`${file("schedules.db")} was missing or empty`);
  expect(second.output()).toMatch(/get their rules again: 1\./);
  expect(second.output()).toMatch(/Open tasks without a message in .*queues\.db: 1\. They are sent again\./);
  const namesOf = () => {
    using rows = new DatabaseSync(file("schedules.db"), { readOnly: true });
    return rows
      .prepare("SELECT name FROM schedules WHERE name NOT LIKE 'app.%' AND name NOT LIKE 'offload.%' ORDER BY name")
      .all();
  };
  // The rule's check is a message, which fire handles soon; on a slow machine, after another start. The file is the server's while it runs.
  let server = second;
  for (;;) {
    await sleep(3_000);
    await server.stop();
    if (namesOf().length === 2) break;
    server = await start();
  }
  const names = namesOf();
  const [oneOff, rule] = waiting < created.schedule_id ? names : names.toReversed();
  expect(names).toHaveLength(2);
  expect(String(oneOff?.name)).toContain(waiting);
  expect(rule?.name).toBe(created.schedule_id);
});

test("a table folder that is gone ends the start with one line, until it is back", async (context) => {
  const { start, file } = setUp(context);
  const first = await start();
  const id = await submit(first, 800);
  await first.stop();
  renameSync(file("table"), file("elsewhere"));
  for (let tries = 0; tries < 2; tries += 1) {
    await expect(start()).rejects.toThrow(new RegExp(`code 1.*\\noffload: The folder ${file("table")} is missing .*$`));
  }
  rmSync(file("table"), { recursive: true, force: true });
  renameSync(file("elsewhere"), file("table"));
  expect(await statusOf(await start(), id)).toBe("scheduled");
});

test.each(["queues.db", "schedules.db", "envelopes.db", "table.lock"])(
  "a damaged %s ends the start with one line that names it",
  async (name) => {
    const stateDir = mkdtempSync(join(tmpdir(), "offload-state-"));
    onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
    writeFileSync(join(stateDir, name), "not a database ".repeat(1_000));
    const start = startOwnServer({ OFFLOAD_STATE_DIR: stateDir });
    await expect(start).rejects.toThrow(new RegExp(`code 1.*\\noffload: ${join(stateDir, name)} is damaged: .*$`));
  },
);

test("a damaged table folder ends the start with one line that names it", async (context) => {
  const { start, file } = setUp(context);
  const first = await start();
  await submit(first, 800);
  await first.stop();
  for (const each of readdirSync(file("table"))) {
    if (each.startsWith("MANIFEST")) writeFileSync(join(file("table"), each), "not a manifest");
  }
  await expect(start()).rejects.toThrow(
    new RegExp(`code 1.*\\noffload: Could not open the folder ${file("table")}: .*$`),
  );
});

test("SIGTERM to npm start stops the server and its workers", async ({ onTestFinished }) => {
  const stateDir = mkdtempSync(join(tmpdir(), "offload-state-"));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const ports = { PORT: "0", OFFLOAD_DYNAMODB_PORT: "0", OFFLOAD_SQS_PORT: "0" };
  const npm = spawn("npm", ["start"], {
    env: { ...process.env, ...ports, OFFLOAD_STATE_DIR: stateDir },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const group = npm.pid ?? 0;
  onTestFinished(() => {
    if (members(group).length > 0) process.kill(-group, "SIGKILL");
  });
  let output = "";
  npm.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  await vi.waitFor(() => expect(output).toContain("Offload is running"), { timeout: 300_000, interval: 250 });
  // npm, its shell, the server, and a worker of each tier.
  await vi.waitFor(() => expect(members(group).length).toBeGreaterThanOrEqual(6), { timeout: 300_000, interval: 250 });
  npm.kill("SIGTERM");
  await vi.waitFor(() => expect(members(group)).toEqual([]), { timeout: 300_000, interval: 250 });
});

/** The processes of a process group. */
function members(group: number): number[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,pgid=,stat="], { encoding: "utf8", timeout: 300_000 })
    .trim()
    .split("\n");
  const rows = lines.map((line) => line.trim().split(/\s+/));
  return rows.flatMap(([pid, pgid, state]) => (Number(pgid) === group && !state?.startsWith("Z") ? [Number(pid)] : []));
}
