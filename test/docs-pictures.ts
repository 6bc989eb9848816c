import { fork } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ConsoleBrowser } from "./support/console.ts";

/*
 * Writes the pictures of the console in docs/pictures, in both themes: `npm run docs:pictures`. The server runs in a folder of its own, with the
 * task type of a new project.
 */

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "offload-pictures-"));
cpSync(join(root, "templates/tasks"), join(folder, "tasks"), { recursive: true });
writeFileSync(join(folder, "package.json"), '{ "name": "my-tasks", "type": "module", "private": true }');
symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));

const ports = { PORT: "0", OFFLOAD_DYNAMODB_PORT: "0", OFFLOAD_SQS_PORT: "0", OFFLOAD_PROBES: "0" };
const server = fork(join(root, "bin/offload.js"), ["start", "--ephemeral"], {
  cwd: folder,
  env: { ...process.env, ...ports },
  execArgv: [],
  stdio: ["ignore", "ignore", "inherit", "ipc"],
});

/** Submits a check of a page of the server, and waits for its end. Returns the task's id. */
async function checked(url: string, path: string): Promise<string> {
  const headers = { authorization: "Bearer dev-acme", "content-type": "application/json" };
  const body = JSON.stringify({ type: "link.check", input: { url: `${url}${path}` }, tags: { page: path } });
  const { task_id } = (await (await fetch(`${url}/tasks`, { method: "POST", headers, body })).json()) as {
    task_id: string;
  };
  for (;;) {
    const task = (await (await fetch(`${url}/tasks/${task_id}?wait=20`, { headers })).json()) as { status: string };
    if (["completed", "failed"].includes(task.status)) return task_id;
  }
}

try {
  const [{ url }] = (await once(server, "message")) as [{ url: string }];
  for (const path of ["/health", "/openapi.json", "/console"]) await checked(url, path);
  const failed = await checked(url, "/console/nowhere");
  const browser = await ConsoleBrowser.start(url);
  try {
    const viewport = { viewport: { width: 1100, height: 720 } };
    for (const [name, place, text] of [
      ["overview", "#/overview", "link.check"],
      ["failed-task", `#/tasks/${failed}`, "does not exist"],
    ] as const) {
      const page = await browser.open("dev-acme", place, viewport);
      await page.getByText(text).first().waitFor();
      await sleep(2_000);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: join(root, `docs/pictures/console-${name}-${colorScheme}.png`) });
      }
      await page.close();
    }
  } finally {
    await browser.close();
  }
} finally {
  server.kill("SIGTERM");
  await once(server, "exit");
  rmSync(folder, { recursive: true, force: true });
}
