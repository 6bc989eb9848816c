import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { deployment } from "./system.ts";
import { drawTerminal } from "./terminal.ts";

interface Review {
  findings: { check: string; severity: string; subject: string }[];
  passed: { check: string }[];
}

/** The output of `npx offload doctor` in a folder. */
function doctor(folder: string, ...options: string[]): string {
  const cwd = join(import.meta.dirname, "..", folder);
  const { stdout, stderr } = spawnSync("offload", ["doctor", ...options], {
    cwd,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    timeout: 120_000,
  });
  expect(stdout, stderr).not.toBe("");
  return stdout;
}

const review = (folder: string) => JSON.parse(doctor(folder, "--json")) as Review;

// It needs no deployment, and takes half a minute.
describe.skipIf(deployment !== undefined)("the review", { timeout: 240_000 }, () => {
  test("it finds the ten planted mistakes, with their severities", () => {
    const { findings } = review("review");
    const found = findings.map(({ check, severity }) => `${severity} ${check}`);
    for (const planted of [
      "critical public-queue",
      "critical tier-capacity",
      "high iam-wildcard",
      "high concurrency-bound",
      "high retries-final",
      "medium log-retention",
      "medium backoff",
      "low input-schema",
      "low payload-size",
      "low description",
    ]) {
      expect(found).toContain(planted);
    }
  });

  test("its report begins with the worst, and ends with what passed", async () => {
    const report = doctor("review");
    const places = ["CRITICAL", "HIGH", "MEDIUM", "LOW", "PASSED"].map((title) => report.split("\n").indexOf(title));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBeGreaterThanOrEqual(0);
    await drawTerminal(`$ cd review && npx offload doctor\n${report}`, "docs/review.png");
  });

  test("it finds none of them in the example itself", () => {
    const { findings, passed } = review(".");
    expect(findings.filter(({ severity }) => severity !== "low")).toEqual([]);
    const names = passed.map(({ check }) => check);
    for (const check of ["public-queue", "tier-capacity", "iam-wildcard", "retries-final", "backoff", "description"]) {
      expect(names).toContain(check);
    }
  });
});
