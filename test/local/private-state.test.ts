import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { keepPrivate } from "../../src/local/disk/private-state.ts";
import { Client, expectStatus, type Task } from "../support/http-client.ts";
import { startOwnServer } from "../support/local-server.ts";

const token = "a-token-that-nobody-may-see";
const subToken = "a-token-of-a-submitter";
const parent = mkdtempSync(join(tmpdir(), "offload-private-"));

afterAll(() => rmSync(parent, { recursive: true, force: true }));

/** All paths below a folder, and the folder itself, each with its permissions: those of folders 700, those of files 600. */
function modesOf(folder: string): { path: string; isFile: boolean; mode: string }[] {
  const paths = ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" })].map((path) => join(folder, path));
  return paths.map((path) => {
    const stat = lstatSync(path);
    return { path, isFile: stat.isFile(), mode: (stat.mode & 0o7777).toString(8) };
  });
}

const readableByOthers = (folder: string) =>
  modesOf(folder).filter(({ isFile, mode }) => mode !== (isFile ? "600" : "700"));

/** Starts a server, uses it with both keys, and stops it. Returns all that it said. */
async function useServer(stateDir: string): Promise<{ texts: string[]; task: Task }> {
  const keys = `${token}:acme:operator,${subToken}:acme:submitter`;
  const server = await startOwnServer({ OFFLOAD_STATE_DIR: stateDir, OFFLOAD_KEYS: keys, OFFLOAD_TRACING: "1" });
  try {
    const operator = new Client(server.url, { token, tenant: "acme", role: "operator" });
    const submitter = new Client(server.url, { token: subToken, tenant: "acme", role: "submitter" });
    const echo = { type: "probe.echo", input: { value: "x" } };
    const schedule = await operator.post("/schedules", { name: `at-${Date.now()}`, cron: "0 0 1 1 *", task: echo });
    expectStatus(schedule, 201);
    const { task_id } = await submitter.submit("probe.echo", { value: "x" });
    await operator.submit("probe.echo", { value: "x" }, { delay_seconds: 86_400 });
    const task = await submitter.ended(task_id);
    const answers = [schedule, await operator.get("/tasks"), await operator.get("/health")];
    expect(readableByOthers(stateDir)).toEqual([]);
    return { texts: [server.output(), ...answers.map(({ text }) => text)], task };
  } finally {
    await server.stop();
  }
}

test("no token is in an answer, the log or the state, and only this user can read the state", {
  timeout: 300_000,
}, async () => {
  const stateDir = join(parent, "new", "state");
  const first = await useServer(stateDir);
  const second = await useServer(stateDir);
  expect(readableByOthers(stateDir)).toEqual([]);
  expect(first.task.requested_by).toMatch(/^local-[0-9a-f]{12}$/);
  expect(second.task.requested_by).toBe(first.task.requested_by);
  const files = modesOf(stateDir).filter(({ isFile }) => isFile);
  expect(files.length).toBeGreaterThan(8);
  const texts = [...first.texts, ...second.texts, ...files.map(({ path }) => readFileSync(path, "latin1"))];
  for (const secret of [token, subToken]) expect(texts.filter((text) => text.includes(secret))).toEqual([]);
});

describe("an older state folder", () => {
  const before = process.umask();
  const warnings: string[] = [];
  const warn = (line: string) => warnings.push(line);
  let stateDir = "";

  beforeEach(() => {
    warnings.length = 0;
    process.umask(0o022);
    stateDir = mkdtempSync(join(parent, "old-"));
    mkdirSync(join(stateDir, "table"));
    mkdirSync(join(stateDir, "other"));
    for (const name of ["queues.db", "table/CURRENT", "other/program"]) writeFileSync(join(stateDir, name), "");
    chmodSync(stateDir, 0o755);
  });
  afterAll(() => process.umask(before));

  test("it and its files become private", () => {
    keepPrivate(stateDir, warn);
    const program = join(stateDir, "other");
    expect(readableByOthers(stateDir).filter(({ path }) => !path.startsWith(program))).toEqual([]);
    expect(lstatSync(join(program, "program")).mode & 0o777).toBe(0o644);
    writeFileSync(join(stateDir, "new"), "");
    expect(lstatSync(join(stateDir, "new")).mode & 0o777).toBe(0o600);
    expect(warnings).toEqual([]);
  });

  test("a folder that all users share stays as it is, with a warning", () => {
    chmodSync(stateDir, 0o1777);
    keepPrivate(stateDir, warn);
    expect(lstatSync(stateDir).mode & 0o7777).toBe(0o1777);
    expect(warnings).toEqual([
      `Could not make the state folder ${stateDir} private: all users share the folder. ` +
        "Other users of this machine may read it. Set OFFLOAD_STATE_DIR to a folder of your own.",
    ]);
  });
});
