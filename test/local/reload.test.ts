import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Client } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";

/** A type that sleeps, and then returns the version of its code, which comes from a file outside of the tasks folder. */
const sleepThenTell = `
import { defineTask } from "offload";
import * as z from "zod";
import { version } from ${JSON.stringify("../version.ts")};

export default defineTask({
  name: "version.tell",
  description: "Sleeps, then returns the version of its code.",
  input: z.object({ ms: z.number(), failAt: z.string().optional() }),
  handler: async ({ ms, failAt }) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (version === failAt) throw new Error("this version fails");
    return version;
  },
});
`;

const patience = { timeout: 300_000, interval: 250 };

describe("a local server that reloads", { timeout: 300_000 }, () => {
  let folder: string;
  let server: OwnServer;
  let client: Client;
  const save = (path: string, text: string) => writeFileSync(join(folder, path), text);
  const saveVersion = (version: string) => save("version.ts", `export const version: string = "${version}";\n`);
  const printed = (text: string) => server.output().split(text).length - 1;
  /** Saves something, and waits until the server says that it has loaded it. */
  const reloaded = async (change: () => void) => {
    const before = printed("Reloaded");
    change();
    await vi.waitFor(() => expect(printed("Reloaded")).toBeGreaterThan(before), patience);
  };
  const tell = (input: object) => client.submit("version.tell", input);
  const resultOf = async (task: { task_id: string }) => (await client.ended(task.task_id)).result;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "offload-reload-"));
    mkdirSync(join(folder, "tasks"));
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
    save("package.json", '{ "type": "module" }');
    save("tasks/version.tell.ts", sleepThenTell);
    saveVersion("one");
    server = await startOwnServer({}, folder, ["dev"]);
    client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  }, 300_000);
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("running attempts end on the old code, later ones run the new code, and no task is lost", async () => {
    const running = await Promise.all(Array.from({ length: 5 }, () => tell({ ms: 12_000 })));
    for (const { task_id } of running) await client.waitFor(task_id, ({ started_at }) => started_at !== null);
    await reloaded(() => saveVersion("two"));
    const later = await tell({ ms: 0 });
    expect(await resultOf(later)).toBe("two");
    expect(await Promise.all(running.map(resultOf))).toEqual(running.map(() => "one"));
  });

  test("a retry runs the code that was saved after the failure", async () => {
    await reloaded(() => saveVersion("faulty"));
    const task = await tell({ ms: 0, failAt: "faulty" });
    await client.waitFor(task.task_id, ({ attempts, status }) => attempts === 1 && status === "pending");
    await reloaded(() => saveVersion("mended"));
    expect(server.output()).toContain("Reloaded 1 task type after a change of version.ts. ");
    expect(await resultOf(task)).toBe("mended");
  });

  test("a broken file is named with line and column, and the old code goes on", async () => {
    await reloaded(() => saveVersion("three"));
    save("tasks/version.tell.ts", sleepThenTell.replace("return version;", "return version +;"));
    const place = "tasks/version.tell.ts:13:21: SyntaxError: ";
    await vi.waitFor(() => expect(server.output()).toContain(place), patience);
    expect(server.output()).toContain("    return version +;\n");
    expect(await resultOf(await tell({ ms: 0 }))).toBe("three");
    await reloaded(() => save("tasks/version.tell.ts", sleepThenTell));
  });

  test("a changed .env reaches the next attempts", async () => {
    const declare =
      'import { defineEnvironment } from "offload"; export default defineEnvironment({ variables: { GREETING: {} } });';
    await reloaded(() => {
      save("tasks/environment.ts", declare);
      save("version.ts", "export const version: string = process.env.GREETING ?? 'none';\n");
    });
    await reloaded(() => save(".env", "GREETING=hello\n"));
    expect(await resultOf(await tell({ ms: 0 }))).toBe("hello");
  });

  test("a submit of a type whose file cannot be loaded says so, until it is mended", async () => {
    const before = printed("Not loaded");
    save("tasks/mail.broken.ts", 'import mailer from "no-such-mailer";\nexport default mailer;\n');
    await vi.waitFor(() => expect(printed("Not loaded")).toBeGreaterThan(before), patience);
    const refused = await client.post("/tasks", { type: "mail.broken", input: {} });
    expect(refused.status).toBe(422);
    const { code, detail } = (await refused.json()) as { code: string; detail: string };
    expect(code).toBe("unknown_task_type");
    expect(detail).toMatch(
      /no task type is named "mail\.broken"\. .*could not be loaded: tasks\/mail\.broken\.ts could not be imported at tasks\/mail\.broken\.ts:1:21: /,
    );
    await reloaded(() => rmSync(join(folder, "tasks/mail.broken.ts")));
    const unknown = await client.post("/tasks", { type: "mail.broken", input: {} });
    expect(((await unknown.json()) as { detail: string }).detail).not.toContain("could not be loaded");
  });

  test("a new file is a new type, which the API accepts", async () => {
    const file = sleepThenTell.replace("version.tell", "version.repeat");
    expect((await client.post("/tasks", { type: "version.repeat", input: { ms: 0 } })).status).toBe(422);
    await reloaded(() => save("tasks/version.repeat.ts", file));
    expect(await resultOf(await client.submit("version.repeat", { ms: 0 }))).toBe("hello");
  });
});

describe("a local server whose task files are broken at its start", { timeout: 300_000 }, () => {
  const start = (folder: string) => {
    const ports = { PORT: "0", OFFLOAD_DYNAMODB_PORT: "0", OFFLOAD_SQS_PORT: "0" };
    const args = [resolve("bin/offload.js"), "dev", "--ephemeral"];
    const server = spawn(process.execPath, args, { cwd: folder, env: { ...process.env, ...ports } });
    let output = "";
    for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => (output += text));
    const exit = once(server, "exit");
    const stop = async () => {
      server.kill("SIGTERM");
      await exit;
    };
    return { output: () => output, [Symbol.asyncDispose]: stop };
  };

  test("it names the error, and starts when a file that a task file imports is mended", async () => {
    const folder = mkdtempSync(join(tmpdir(), "offload-mend-"));
    mkdirSync(join(folder, "tasks"));
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "tasks/version.tell.ts"), sleepThenTell);
    writeFileSync(join(folder, "version.ts"), "export const version = ;\n");
    await using server = start(folder);
    await vi.waitFor(
      () => expect(server.output()).toMatch(/Not started: tasks\/version\.tell\.ts could not/),
      patience,
    );
    writeFileSync(join(folder, "version.ts"), "export const version = later;\n");
    await vi.waitFor(() => expect(server.output()).toMatch(/Not started: .*later is not defined/), patience);
    writeFileSync(join(folder, "version.ts"), 'export const version: string = "one";\n');
    await vi.waitFor(() => expect(server.output()).toContain("Offload is running"), patience);
    rmSync(folder, { recursive: true, force: true });
  });
});
