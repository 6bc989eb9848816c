import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Client } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";

const lines = [
  'import { defineTask } from "offload";',
  'import * as z from "zod";',
  "",
  "interface Order { readonly id: number }",
  "",
  "export default defineTask({",
  '  name: "order.count",',
  '  description: "Counts.",',
  "  input: z.object({ id: z.number() }),",
  "  timeoutSeconds: 1,",
  "  handler: async (order: Order) => {",
  "    const counted: number = order.id + 1;",
  "    await new Promise((soon) => setTimeout(soon, 300));",
  "    return counted;",
  "  },",
  "});",
];
/** The breakpoint, as a debugger finds it by the source map of the built code: line and column from 0. */
function breakpointIn(built: string) {
  const map = JSON.parse(readFileSync(`${built}.map`, "utf8"));
  const wanted = lines.findIndex((text) => text.includes("setTimeout(soon, 300)"));
  const source = new SourceMap(map);
  const rows = readFileSync(built, "utf8").split("\n");
  const row = rows.findIndex((text, index) => {
    const entry = source.findEntry(index, text.length - text.trimStart().length);
    return "originalSource" in entry && /order\.count\.ts$/.test(entry.originalSource) && entry.originalLine === wanted;
  });
  return { lineNumber: row, columnNumber: 0 };
}

/** Longer than the type's time-out, its lease (17 s) and the time for which its message is hidden (22 s). */
const heldMs = 28_000;

let folder: string;
let server: OwnServer;
let port: number;

/** A port that is free, as are the three above it, most likely. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((ready) => probe.listen(0, "127.0.0.1", ready));
  const { port } = probe.address() as { port: number };
  await new Promise((closed) => probe.close(closed));
  return Math.min(port, 65_532);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "offload-debugger-"));
  mkdirSync(join(folder, "tasks"));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tasks/order.count.ts"), `${lines.join("\n")}\n`);
  port = await freePort();
  server = await startOwnServer({}, folder, ["dev", "--inspect", String(port)]);
}, 300_000);
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("a debugger attaches to a tier's worker; time-out, lease and watchdog wait at a breakpoint in a task file", async () => {
  expect(server.output()).toContain(`critical ${port}, high ${port + 1}, normal ${port + 2}, low ${port + 3}`);
  const address = await vi.waitFor(
    async () => {
      const response = await fetch(`http://127.0.0.1:${port + 2}/json`);
      const [target] = (await response.json()) as { webSocketDebuggerUrl: string }[];
      // A worker that has just started has an inspector, and nothing to look at yet.
      if (target === undefined) throw new Error("no target yet");
      return target.webSocketDebuggerUrl;
    },
    { timeout: 300_000, interval: 250 },
  );
  const socket = new WebSocket(address);
  await new Promise((open) => socket.addEventListener("open", open, { once: true }));
  const paused = new Promise<{ params: { callFrames: { location: { lineNumber: number }; functionName: string }[] } }>(
    (stop) =>
      socket.addEventListener("message", ({ data }) => {
        const message = JSON.parse(String(data));
        if (message.method === "Debugger.paused") stop(message);
      }),
  );
  let id = 0;
  const send = (method: string, params = {}) => {
    id += 1;
    socket.send(JSON.stringify({ id, method, params }));
  };
  const parsed = new Promise<string>((found) =>
    socket.addEventListener("message", ({ data }) => {
      const { method, params } = JSON.parse(String(data));
      if (method === "Debugger.scriptParsed" && /tasks\.mjs$/.test(params.url)) found(params.url);
    }),
  );
  send("Debugger.enable");
  const url = await parsed;
  const breakpoint = breakpointIn(fileURLToPath(url));
  send("Debugger.setBreakpointByUrl", { ...breakpoint, url });
  const client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  const task = await client.submit("order.count", { id: 6 });
  const { params } = await paused;
  expect(params.callFrames[0]).toMatchObject({
    functionName: "handler",
    location: { lineNumber: breakpoint.lineNumber },
  });
  await sleep(heldMs);
  expect(await client.task(task.task_id)).toMatchObject({ status: "processing", attempts: 1 });
  send("Debugger.resume");
  expect(await client.ended(task.task_id)).toMatchObject({ status: "completed", result: 7, attempts: 1 });
  expect(await client.attempts(task.task_id)).toMatchObject([{ number: 1, outcome: "completed" }]);
  socket.close();
}, 300_000);
