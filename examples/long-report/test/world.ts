import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "offload/client";
import { startLocalServer } from "offload/testing";
import { startServer } from "../server.ts";
import type * as tasks from "../tasks/index.ts";

/** Set for a deployment: then the tests use it in place of a local server. */
export const deployed = process.env.OFFLOAD_URL;

/** Time for anything that a test waits for: the machine is slow and shared, and a deployment starts functions. */
export const patient = { timeout: 240_000, interval: 200 };

export const aReport = { region: "north", firstMonth: "2025-07", months: 3, seconds: 0 } as const;

/** A free port below those that the system gives to others in the meantime. */
async function freePort(): Promise<number> {
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => resolve(true));
  });
  server.close();
  return isFree ? port : freePort();
}

export type World = Awaited<ReturnType<typeof startWorld>>;

/** Offload and the server. `limits` is OFFLOAD_LIMITS. */
export async function startWorld(limits: object = {}) {
  const folder = mkdtempSync(join(tmpdir(), "long-report-"));
  // A deployment calls the default ports of this example.
  const [webPort, webhookPort] = deployed === undefined ? [await freePort(), await freePort()] : [4000, 4100];
  const own = {
    WEB_PORT: `${webPort}`,
    WEBHOOK_PORT: `${webhookPort}`,
    REPORTS_URL: `http://127.0.0.1:${webPort}`,
    REPORTS_KEY: "dev-reports-key",
    REPORTS_FOLDER: join(folder, "reports"),
    OFFLOAD_CALLBACK_HOSTS: `127.0.0.1:${webhookPort}`,
    OFFLOAD_TIME_SCALE: "0.01",
    // The log has whole ids.
    OFFLOAD_VERBOSE: "1",
    OFFLOAD_LIMITS: JSON.stringify(limits),
  };
  const local = deployed === undefined ? await startLocalServer({ env: own }) : undefined;
  const env: NodeJS.ProcessEnv = { ...process.env, ...own, ...local?.env };
  const server = await startServer(env);
  const { OFFLOAD_URL: url = "", OFFLOAD_KEY: key = "" } = env;
  const headers = { "content-type": "application/json" };

  return {
    folder,
    local,
    url: server.url,
    webhookUrl: `http://127.0.0.1:${webhookPort}/hooks/forged`,
    client: createClient<typeof tasks>({ url, key }),
    /** A request to Offload, as any program can send it. */
    offload: (method: string, path: string, body?: object, more?: Record<string, string>) =>
      fetch(`${url}${path}`, {
        method,
        headers: { ...headers, authorization: `Bearer ${key}`, ...more },
        body: body === undefined ? null : JSON.stringify(body),
        redirect: "manual",
      }),
    /** A request of the page to the server. */
    page: (method: string, path: string, body?: unknown) =>
      fetch(`${server.url}${path}`, {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
        redirect: "manual",
      }),
    /** Runs one of the two programs. */
    run(program: string, ...args: string[]) {
      const child = spawn(process.execPath, [join(import.meta.dirname, "..", program), ...args], { cwd: folder, env });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (text) => (output += text));
      const ended = once(child, "exit").then(([code]) => code as number | null);
      return { output: () => output, ended, kill: () => child.kill() };
    },
    async close(): Promise<void> {
      server.close();
      await local?.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
