import { describe, expect, test } from "vitest";
import { taskLogPage } from "../../../src/core/control/task-log.ts";
import { attemptsOf } from "../../../src/core/end/view.ts";
import { iso } from "../../../src/core/model/record.ts";
import type { LogLine, LogSource } from "../../../src/core/ports/task-logs.ts";
import { MemoryTaskLogs } from "../../../src/memory/task-logs.ts";
import { memoryPipeline, typeOf } from "../../support/memory-pipeline.ts";

/** A task whose first attempt fails, and its log, in which other times of the same task have lines that no read should reach. */
async function logged(lateMs = 0) {
  const logs = new MemoryTaskLogs(lateMs);
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
  const write = (source: LogSource, message: string, number: number | null, atMs = clock.now()) => {
    const line: LogLine = { at: iso(atMs), level: "info", message, attempt: number, fields: {} };
    logs.add(task, source, line);
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
  return { ...pipeline, logs, write, read };
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
});
