import { describe, expect, test } from "vitest";
import * as z from "zod";
import { ProcessLife } from "../../../../src/core/pipeline/work/process-life.ts";
import type { Log } from "../../../../src/core/ports/tasks.ts";
import { currentTask, outsideAttempts } from "../../../../src/core/task/ambient.ts";
import { defineProcess, type TaskProcess } from "../../../../src/core/task/process.ts";
import { defineTask } from "../../../../src/core/task/task.ts";
import { FakeClock } from "../../../../src/memory/clock.ts";
import { testKit } from "../../../../src/testkit/kit.ts";

/** A process with these functions, and a task type whose handler runs in it. */
function setUp(own: TaskProcess, handler: () => unknown = () => "done") {
  const clock = new FakeClock(0);
  const lines: string[] = [];
  const write = (level: string) => (message: string, fields?: object) =>
    lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const log = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  const life = new ProcessLife({ clock, log: log as unknown as Log }, defineProcess(own));
  const type = defineTask({ name: "mail.send", input: z.unknown(), retry: { baseSeconds: 1 }, handler });
  const [started = type] = life.started([type]);
  const run = () => testKit([started]).run(started as typeof type, {});
  return { clock, life, lines, run };
}

const never = () => new Promise(() => {});

describe("the start of a process", () => {
  test("runs once, before the first attempt, and belongs to no attempt", async () => {
    const said: unknown[] = [];
    const { life, run } = setUp({ start: () => said.push(currentTask()) }, () => said.push("handler"));
    await Promise.all([run(), run()]);
    await life.begin();
    expect(said).toEqual([undefined, "handler", "handler"]);
  });

  test("is each attempt's error while it fails, and runs again for the next one", async () => {
    let starts = 0;
    const start = () => {
      starts += 1;
      if (starts < 3) throw new Error(`no database at start ${starts}`);
    };
    const { life, lines, run } = setUp({ start });
    await life.begin();
    expect(lines).toEqual([expect.stringMatching(/^error a function of tasks\/process\.ts failed .*start/)]);
    const { status, attempts } = await run();
    expect([status, ...attempts.map(({ error }) => error)]).toEqual(["completed", "no database at start 2", undefined]);
    await run();
    expect(starts).toBe(3);
  });

  test("that does not end is left to the attempts", async () => {
    const { clock, life } = setUp({ start: never });
    const begun = life.begin();
    await clock.advance(3_000);
    await expect(begun).resolves.toBeUndefined();
  });
});

describe("the flush of a process", () => {
  test("runs where code of an attempt has run since the last one, and not before the start", async () => {
    let flushes = 0;
    const { life, run } = setUp({ flush: () => (flushes += 1) });
    await life.flush();
    expect(flushes).toBe(0);
    await run();
    await life.flush();
    await life.flush();
    expect(flushes).toBe(1);
    await run();
    await life.flush();
    expect(flushes).toBe(2);
  });

  test("also runs while an attempt goes on", async () => {
    let flushes = 0;
    const [begun, attempt] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const handler = () => {
      begun.resolve();
      return attempt.promise;
    };
    const { life, run } = setUp({ flush: () => (flushes += 1) }, handler);
    const running = run();
    await begun.promise;
    await life.flush();
    await life.flush();
    expect(flushes).toBe(2);
    attempt.resolve();
    await running;
  });

  test.each([
    ["has three seconds", Number.POSITIVE_INFINITY, 3_000],
    ["has less where the process is stopped before", 3_500, 2_500],
    ["has none where that is now", 500, 0],
  ])("%s", async (_, deadlineMs, limitMs) => {
    const { clock, life, lines, run } = setUp({ flush: never });
    await run();
    let ended = false;
    void life.flush(deadlineMs).then(() => {
      ended = true;
    });
    if (limitMs > 0) {
      await clock.advance(limitMs - 1);
      expect(ended).toBe(false);
    }
    await clock.advance(1);
    expect(ended).toBe(true);
    expect(lines).toEqual([
      `warn a function of tasks/process.ts has not ended in its time {"function":"flush","limit_ms":${limitMs}}`,
    ]);
  });

  test("that fails costs a line of the log", async () => {
    const { life, lines, run } = setUp({ flush: () => Promise.reject("down") });
    await run();
    await life.flush();
    expect(lines).toEqual(['error a function of tasks/process.ts failed {"function":"flush","error":"down"}']);
  });
});

describe("the end of a process", () => {
  test("flushes, then stops, once", async () => {
    const calls: string[] = [];
    const { life, run } = setUp({ flush: () => calls.push("flush"), stop: () => calls.push("stop") });
    await run();
    await Promise.all([life.end(), life.end()]);
    expect(calls).toEqual(["flush", "stop"]);
  });

  test("stops nothing that has not started", async () => {
    const calls: string[] = [];
    const { life, lines } = setUp({
      start: () => {
        throw new Error("no");
      },
      stop: () => calls.push("stop"),
    });
    await life.begin();
    await life.end();
    expect([calls, lines.length]).toEqual([[], 1]);
  });

  test("does not wait for functions that hang or fail", async () => {
    const stopping = Promise.withResolvers<void>();
    const stop = () => {
      stopping.resolve();
      return never();
    };
    const { clock, life, lines, run } = setUp({ flush: () => Promise.reject(new Error("down")), stop });
    await run();
    const ended = life.end();
    await stopping.promise;
    await clock.advance(2_000);
    await ended;
    expect(lines.map((line) => line.slice(0, 4))).toEqual(["erro", "warn"]);
  });
});

test("a process has functions, and nothing else", () => {
  expect(() => defineProcess({ start: 1 } as never)).toThrow(/^defineProcess: start must be a function, got 1/);
  expect(() => defineProcess({ shutdown: () => {} } as never)).toThrow(/shutdown is not an option/);
});

test("code outside of an attempt stays there", () => {
  expect(outsideAttempts(() => currentTask())).toBeUndefined();
});
