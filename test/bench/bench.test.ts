import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { contestants } from "./contestants.ts";
import { priceOf } from "./direct.ts";
import { emulatedBenchmark } from "./emulated.ts";

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
