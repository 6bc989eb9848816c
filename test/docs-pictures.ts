import { fork } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
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
  const body = JSON.stringify({ type: "link.check", input: { url: `${url}${path}` }, tags: { page: path } });
  const { task_id } = (await (await fetch(`${url}/tasks`, { method: "POST", headers, body })).json()) as {
    task_id: string;
  };
  for (;;) {
    const task = (await (await fetch(`${url}/tasks/${task_id}?wait=20`, { headers })).json()) as { status: string };
    if (["completed", "failed"].includes(task.status)) return task_id;
  }
}

const headers = { authorization: "Bearer dev-acme", "content-type": "application/json" };

/** Creates a schedule that checks a page. */
async function schedule(url: string, name: string, timing: object): Promise<void> {
  const task = { type: "link.check", input: { url: `${url}/health` } };
  const body = JSON.stringify({ name, ...timing, task });
  const { status } = await fetch(`${url}/schedules`, { method: "POST", headers, body });
  if (status !== 201) throw new Error(`the schedule ${name} was refused with ${status}`);
}

/** Pages of the console: name of the picture, place, a text that the page has when it is loaded. */
const pagesOf = (failed: string) =>
  [
    ["overview", "#/overview", "link.check"],
    ["tasks", "#/tasks", "link.check"],
    ["failed-task", `#/tasks/${failed}`, "does not exist"],
    ["dead-letters", "#/dead-letters", "does not exist"],
    ["schedules", "#/schedules", "Check at night"],
  ] as const;

try {
  const [{ url }] = (await once(server, "message")) as [{ url: string }];
  for (const path of ["/health", "/openapi.json", "/console"]) await checked(url, path);
  await checked(url, "/console/elsewhere");
  const failed = await checked(url, "/console/nowhere");
  await schedule(url, "Check at night", { cron: "30 2 * * *", timezone: "Europe/Berlin" });
  await schedule(url, "Check on Mondays", { cron: "0 8 * * 1", timezone: "Europe/Berlin" });
  const browser = await ConsoleBrowser.start(url);
  const save = (page: Page, name: string) => page.screenshot({ path: join(root, `docs/pictures/console-${name}.png`) });
  try {
    for (const [name, place, text] of pagesOf(failed)) {
      const page = await browser.open("dev-acme", place, { viewport: { width: 1100, height: 720 } });
      await page.getByText(text).first().waitFor();
      await sleep(2_000);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await save(page, `${name}-${colorScheme}`);
      }
      await page.emulateMedia({ colorScheme: "light" });
      await page.setViewportSize({ width: 390, height: 844 });
      await sleep(500);
      if (name === "overview" || name === "failed-task") await save(page, `${name}-phone`);
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
