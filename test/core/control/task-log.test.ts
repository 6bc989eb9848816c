import { describe, expect, test, vi } from "vitest";
import { changePriority } from "../../../src/core/control/change-waiting.ts";
import { type LogLine, type LogSource, taskLogPage } from "../../../src/core/control/task-log.ts";
import { iso } from "../../../src/core/model/record.ts";
import type { Tier } from "../../../src/core/model/words.ts";
import { attemptsOf } from "../../../src/core/pipeline/end/view.ts";
import { MemoryTaskLogs } from "../../../src/memory/task-logs.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { typeOf } from "../../support/task-types.ts";

/** A task whose first attempt fails, and its log, in which other times of the same task have lines that no read should reach. */
async function logged(lateMs = 0, shape = {}) {
  const logs = new MemoryTaskLogs(lateMs, shape);
  let attempt = 0;
  const pipeline = memoryPipeline([
    typeOf(async () => {
      attempt += 1;
      await clock.advance(2_000);
      write("worker", `in attempt ${attempt}`, attempt);
      if (attempt === 1) throw new Error("not yet");
      return {};
    }),
  ]);
  const { clock, ports } = pipeline;
  const task = await pipeline.accept();
  let tier = task.priority;
  const write = (source: LogSource, message: string, number: number | null, atMs = clock.now()) => {
    const line: LogLine = { at: iso(atMs), level: "info", message, attempt: number, fields: {} };
    logs.add(task, source, line, tier);
  };
  /** Moves the task while it waits. Lines are written by the workers of its new tier from then on. */
  const moveTo = async (next: Tier) => {
    const record = await ports.records.get(task);
    if (record === undefined) throw new Error("no record");
    await changePriority(pipeline.ports, record, next);
    tier = next;
  };
  write("submit", "task submitted", null);
  const read = async (limit = 100, from?: string) => {
    const record = await ports.records.get(task);
    if (record === undefined) throw new Error("no record");
    const page = await taskLogPage(
      { clock, logs },
      { record, attempts: await attemptsOf(ports, record, { stacks: false }), limit, from },
    );
    return { texts: page.lines.map(({ message }) => message), next: page.next };
  };
  return { ...pipeline, task, logs, write, read, moveTo };
}

describe("the log of a task", () => {
  test("has the lines of its submit and of each attempt, oldest first, and is complete some time after its end", async () => {
    const { read, drain, clock } = await logged();
    await clock.advance(1_000);
    const first = await read();
    expect(first.texts).toEqual(["task submitted"]);
    expect(first.next).toBeDefined();
    await drain();
    const rest = await read(100, first.next);
    expect(rest.texts).toEqual(["in attempt 1", "in attempt 2"]);
    await clock.advance(5_000);
    expect(await read()).toEqual({ texts: ["task submitted", "in attempt 1", "in attempt 2"], next: undefined });
  });

  test("pages of any size have each line once", async () => {
    const { read, drain, clock } = await logged();
    await drain();
    await clock.advance(10_000);
    const texts: string[] = [];
    let from: string | undefined;
    do {
      const page = await read(1, from);
      expect(page.texts.length).toBeLessThanOrEqual(1);
      texts.push(...page.texts);
      from = page.next;
    } while (from !== undefined);
    expect(texts).toEqual(["task submitted", "in attempt 1", "in attempt 2"]);
  });

  test("the time between two attempts is not read", async () => {
    const { read, drain, clock, write } = await logged();
    const start = clock.now();
    await drain();
    write("worker", "between the attempts", null, start + 20_000);
    await clock.advance(10_000);
    expect((await read()).texts).not.toContain("between the attempts");
  });

  test("lines that come late are waited for: a place is not passed before they can be read", async () => {
    const { read, drain, clock, write } = await logged(5_000);
    await drain();
    const early = await read();
    write("worker", "late", 2);
    await clock.advance(10_000);
    const rest = await read(100, early.next);
    expect(early.texts).not.toContain("late");
    expect([...early.texts, ...rest.texts]).toEqual(["task submitted", "in attempt 1", "in attempt 2", "late"]);
    expect(rest.next).toBeUndefined();
  });

  describe("of a task that was moved between its attempts", () => {
    const whole = ["task submitted", "in attempt 1", "in attempt 2"];

    test.each([
      ["with a group for each tier", {}],
      ["with a group for each tier, and containers", { containers: true }],
      ["with one group of all tiers", { byTier: false }],
    ])("has the lines of both tiers, once: %s", async (_, shape) => {
      const { read, work, drain, clock, moveTo } = await logged(0, shape);
      await work();
      await moveTo("high");
      await drain();
      await clock.advance(10_000);
      const first = await read();
      const rest = first.next === undefined ? [] : (await read(100, first.next)).texts;
      expect([...first.texts, ...rest]).toEqual(whole);
    });

    test("has them in pages of one line", async () => {
      const { read, work, drain, clock, moveTo } = await logged();
      await work();
      await moveTo("high");
      await drain();
      await clock.advance(10_000);
      const texts: string[] = [];
      let page = await read(1);
      texts.push(...page.texts);
      while (page.next !== undefined) {
        page = await read(1, page.next);
        texts.push(...page.texts);
      }
      expect(texts).toEqual(whole);
    });

    test("names each earlier tier once, and never the present one", async () => {
      const { work, moveTo, ports, task } = await logged();
      const tiers = async () => (await ports.records.get(task))?.earlier_tiers;
      expect(await tiers()).toBeUndefined();
      await work();
      await moveTo("high");
      expect(await tiers()).toEqual(["normal"]);
      for (const tier of ["low", "high", "normal", "low"] as const) await moveTo(tier);
      expect(await tiers()).toEqual(["high", "normal"]);
    });

    test("a call that knows an older tier does not lose the one between", async () => {
      const { work, moveTo, ports, task, clock } = await logged();
      await work();
      const stale = await ports.records.get(task);
      await moveTo("high");
      await clock.advance(1);
      if (stale !== undefined) await changePriority(ports, stale, "low");
      expect((await ports.records.get(task))?.earlier_tiers).toEqual(["normal", "high"]);
    });
  });

  test("of a task that stayed in its tier costs one call for each time", async () => {
    const { read, drain, clock, logs } = await logged();
    await drain();
    await clock.advance(10_000);
    const page = vi.spyOn(logs, "page");
    await read();
    expect(page.mock.calls.map(([, { source }]) => source)).toEqual(["submit", "worker", "worker"]);
  });
});
