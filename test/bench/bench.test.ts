import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { contestants } from "./contestants.ts";
import { cpuBenchmark } from "./cpu.ts";
import { priceOf } from "./direct.ts";
import { emulatedBenchmark } from "./emulated.ts";
import { isWorse, type Spread } from "./measure.ts";

// The benchmarks in miniature: that everybody does the work, and what can be counted. Nothing that takes time is judged.

const folder = mkdtempSync(join(tmpdir(), "offload-bench-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the command, and gives its exit code and what it printed. */
const bench = (...args: string[]) =>
  new Promise<{ code: unknown; out: string }>((resolve) => {
    execFile(
      process.execPath,
      ["--import", "./src/installed/register-entries.ts", "test/bench/run.ts", ...args],
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : error.code, out: stdout + stderr }),
    );
  });

test("every contestant answers over the emulators", async () => {
  const { rows } = await emulatedBenchmark("status").run({ folder, rounds: 1, note: () => {} });
  expect(rows.map(([contestant]) => contestant)).toEqual([...contestants]);
  for (const [, wall] of rows) expect(Number(wall)).toBeGreaterThan(0);
});

test("CPU times of contestants are compared without that of the transport, which sends as many requests as the floor", async () => {
  const figures = { floor: { goal: 1, last: 1 } };
  const options = { name: "short", kind: "worker", title: "short", calls: 2, tasksPerCall: 10, figures } as const;
  const { rows, goals, data } = await cpuBenchmark(options).run({ folder, rounds: 1, note: () => {} });
  expect(rows.map(([name]) => name)).toEqual(["stub", ...contestants]);
  const least = (name: string) => (data as Record<string, { cpuUs: Spread }>)[name]?.cpuUs.least ?? Number.NaN;
  const ratio = (least("offload") - least("stub")) / (least("floor") - least("stub"));
  expect(goals).toMatchObject([{ value: expect.closeTo(ratio, 9), atMost: 1, last: 1 }]);
});

test.each([
  ["a tenth more than the last", 1.1, 1, false],
  ["more than that", 1.11, 1, true],
  ["four times the last, and under its goal", 0.4, 0.1, true],
])("the short form fails on a figure that is worse than the last by a tenth: %s", (_, value, last, worse) => {
  expect(isWorse({ what: "CPU", value, last, atMost: 2 })).toBe(worse);
});

test("the short form fails on a count above its goal", () => {
  expect(isWorse({ what: "writes", value: 3.01, atMost: 3 })).toBe(true);
  expect(isWorse({ what: "writes", value: 3, atMost: 3 })).toBe(false);
});

test("a submit over HTTP costs the gateway, two functions and their logs more than a direct one", () => {
  const asked = { writes: 1, writeUnits: 2, reads: 0, queue: 1 };
  const [overHttp, direct] = [priceOf(asked, true), priceOf(asked, false)];
  expect(direct).toBeGreaterThan(2 * 0.625 + 0.4);
  expect(overHttp - direct).toBeGreaterThan(1 + 2 * 0.2);
});

describe("the command", () => {
  test("the command runs the parts whose name has a given word, meets every goal that is a count, and writes JSON", async () => {
    const file = join(folder, "bench.json");
    expect(await bench("requests", "--json", file)).toMatchObject({ code: 0, out: expect.stringContaining("met ") });
    const { reports, ...machine } = JSON.parse(readFileSync(file, "utf8"));
    expect(machine).toMatchObject({ node: process.version, cpus: expect.any(Number), cpu: expect.any(String) });
    expect(reports).toMatchObject([{ name: "requests" }]);
    const { floor, offload } = reports[0].data;
    expect(floor.perTask).toEqual({ writes: 3, writeUnits: 4, reads: 0, queue: 1 });
    // A process reads the settings of flow every two seconds, which the counted calls of a busy machine may last.
    const reads = expect.closeTo(0, 0);
    expect(offload).toMatchObject({ perTask: { ...floor.perTask, reads }, perBatch: { ...floor.perBatch, reads } });
  });

  test.each([["neither"], ["--rounds", "none"]])("%j prints the usage", async (...args) => {
    expect(await bench(...args)).toMatchObject({ code: 2, out: expect.stringContaining("Usage: npm run bench") });
  });
});
