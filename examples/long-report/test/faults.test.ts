import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { monthsFrom } from "../tasks/lib/sales.ts";
import { aReport, deployed, patient, startWorld } from "./world.ts";

/** The months that were added up, as the log says: those of all tasks, or of one. */
const addedUp = (log: string, id = "") =>
  [...log.matchAll(/month added up {2}month=(\S+) task_id=(\S+)/g)].flatMap(([, month, task]) =>
    task?.includes(id) ? [month] : [],
  );

describe.skipIf(deployed !== undefined)("on this machine (a deployment is neither killed nor loaded)", () => {
  test("a report whose worker is killed goes on behind the months that are done", { timeout: 600_000 }, async () => {
    const world = await startWorld();
    onTestFinished(() => world.close());
    const task = await world.client.submit("report.make", {
      ...aReport,
      firstMonth: "2024-01",
      months: 12,
      seconds: 24,
    });
    await expect.poll(async () => (await world.client.status(task)).progress, patient).toBeGreaterThan(40);
    const workers = execFileSync("pgrep", ["-P", `${world.local?.pid}`], { encoding: "utf8", timeout: 120_000 });
    for (const pid of workers.trim().split("\n")) process.kill(Number(pid), "SIGKILL");
    const file = await world.client.result(task, { timeoutMs: 400_000 });
    const { attempts, outcome } = await world.client.status(task);
    expect({ attempts, outcome, name: (file as File).name }).toEqual({
      attempts: 2,
      outcome: "COMPLETE",
      name: "north-2024-01.csv",
    });
    const [first] = await world.client.attempts(task);
    expect(first?.outcome).toBe("crashed");
    const months = addedUp(world.local?.output() ?? "", task.task_id);
    expect([...new Set(months)]).toEqual(monthsFrom("2024-01", 12));
    // Only the month that the kill cut off is added up again.
    expect(months.length).toBeLessThanOrEqual(13);
    console.log(`12 months, added up in ${months.length} steps over 2 attempts`);
  });

  test("500 reports at once are all accepted, and each is made once", { timeout: 900_000 }, async () => {
    const world = await startWorld({ tenants: { acme: { submits_per_second: 20, burst: 50 } } });
    onTestFinished(() => world.close());
    const input = { ...aReport, months: 1, format: "page" };
    const started = performance.now();
    const answers = await Promise.all(Array.from({ length: 500 }, () => world.page("POST", "/api/reports", input)));
    const acceptedMs = performance.now() - started;
    expect(answers.filter(({ status }) => status !== 202)).toEqual([]);
    const ids = await Promise.all(answers.map(async (one) => ((await one.json()) as { task_id: string }).task_id));
    expect(new Set(ids).size).toBe(500);
    /** Ids of the reports that are complete after one attempt. */
    const ends = async () => {
      const found: string[] = [];
      for await (const { task_id, outcome, attempts } of world.client.list({ type: "report.make" })) {
        if (outcome === "COMPLETE" && attempts === 1) found.push(task_id);
      }
      return found;
    };
    await expect.poll(async () => (await ends()).length, { timeout: 600_000, interval: 2_000 }).toBe(500);
    expect((await ends()).sort()).toEqual([...ids].sort());
    const log = world.local?.output() ?? "";
    expect(addedUp(log)).toHaveLength(500);
    expect(readdirSync(join(world.folder, "reports")).sort()).toEqual(ids.map((id) => `${id}.json`).sort());
    const refused = log.match(/POST \/tasks 429 /g)?.length ?? 0;
    // A slow machine sends fewer than the tenant may submit.
    console.log(`500 reports: all accepted after ${Math.round(acceptedMs)} ms and ${refused} refusals`);
  });
});
