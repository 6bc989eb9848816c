import { describe, expect, test } from "vitest";
import { z } from "zod";
import { discardOne, replayOne } from "../../../../src/core/control/act-on-task.ts";
import { cancel } from "../../../../src/core/control/control.ts";
import { runNow } from "../../../../src/core/control/run-now.ts";
import { changeLimits, pause, resume } from "../../../../src/core/extras/limits/manage-flow.ts";
import type { Ticket } from "../../../../src/core/model/envelope.ts";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import { isTerminal, type Tier } from "../../../../src/core/model/words.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import type { StrictOption } from "../../../../src/core/task/type-limits.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

const input = z.object({
  key: z.string().default("a"),
  n: z.number(),
  ms: z.number().default(400),
  fails: z.number().default(0),
  sleeps: z.number().default(0),
});

type Given = z.output<typeof input>;

const line = "concurrency/test.task/acme/a";

/** A pipeline with one type in strict order. Its handlers write what they do. */
function setUp({ onDeadLetter, ...more }: Partial<TaskType> & Pick<StrictOption, "onDeadLetter"> = {}) {
  const told: string[] = [];
  const handler = async ({ n, ms, fails, sleeps }: Given, task: TaskContext) => {
    told.push(`${n} begins`);
    await new Promise<void>((resolve) => pipeline.clock.after(ms, resolve));
    if (sleeps > 0) await task.sleep(sleeps);
    if (task.attemptOverall <= fails) throw new Error(`${n} fails`);
    told.push(`${n} ends`);
  };
  const type = typeOf(
    handler as TaskType["handler"],
    {
      input,
      timeoutSeconds: 30,
      maxAttempts: 3,
      retry: { waitsSeconds: [600], jitter: "none" },
      concurrency: { key: ({ key }: Given) => key, limit: 1, order: "strict", ...(onDeadLetter && { onDeadLetter }) },
      ...more,
    } as Partial<TaskType>,
  );
  const pipeline = memoryPipeline([type]);
  const pool = workerPool(pipeline);
  const acceptAll = async (...tasks: (Partial<Given> & { body?: object })[]) => {
    const accepted = [];
    for (const [index, { body, ...given }] of tasks.entries()) {
      accepted.push(await pipeline.accept({ input: { n: index + 1, ...given }, ...body }));
      // The message of one task comes after that of the task before it.
      await pool.pass(10);
    }
    return accepted;
  };
  /** Lets time pass, in which the tasks of long sleeps wake up. */
  const passDays = async (days: number, stepMs: number) => {
    for (let ms = 0; ms < days * 86_400_000; ms += 3_600_000) {
      await pool.pass(3_600_000, stepMs);
      await pipeline.fire();
    }
  };
  const statuses = () => pipeline.records.all().map(({ status }) => status);
  const letter = async (index: number) => {
    const { tenant_id, task_id, dead_letter_at = "" } = pipeline.records.all()[index] ?? ({} as never);
    return { tenant_id, task_id, dead_letter_at };
  };
  return { ...pipeline, pipeline, pool, passDays, told, acceptAll, statuses, letter };
}

const whole = (...numbers: number[]) => numbers.flatMap((n) => [`${n} begins`, `${n} ends`]);

describe("strict order: a task starts when the one before it is over", () => {
  test("a task that waits for its retry lets none of its key pass, and tasks of other keys start", async () => {
    const { acceptAll, pool, told } = setUp();
    await acceptAll({ fails: 1 }, {}, { key: "b" });
    await pool.pass(60_000);
    expect(told).toEqual(["1 begins", "3 begins", "3 ends"]);
    await pool.pass(700_000);
    expect(told).toEqual(["1 begins", "3 begins", "3 ends", ...whole(1, 2)]);
  });

  test("a task that sleeps for ten days keeps its turn, and its line costs a look every four minutes at most", async () => {
    const { acceptAll, passDays, told, lines } = setUp();
    await acceptAll({ sleeps: 864_000 }, {}, {});
    let plans = 0;
    const planCheck = lines.planCheck.bind(lines);
    lines.planCheck = (...given) => {
      plans += 1;
      return planCheck(...given);
    };
    await passDays(1, 60_000);
    expect(told).toEqual(["1 begins"]);
    expect(plans).toBeLessThanOrEqual(86_400 / 240 + 2);
    await passDays(9.1, 600_000);
    expect(told).toEqual(["1 begins", ...whole(1, 2, 3)]);
  });

  test("200 tasks of one key, some of which fail: in their order, each over before the next one begins", async () => {
    const { acceptAll, pool, told, statuses } = setUp({ retry: { waitsSeconds: [5], jitter: "none" } });
    const all = Array.from({ length: 200 }, (_, index) => ({ ms: 50, fails: index % 7 === 3 ? 1 : 0 }));
    await acceptAll(...all);
    await pool.pass(400_000);
    expect(statuses()).toEqual(all.map(() => "completed"));
    const order = told.filter((text) => text.endsWith("ends")).map((text) => Number.parseInt(text, 10));
    expect(order).toEqual(all.map((_, index) => index + 1));
    for (const [index, text] of told.entries()) {
      const n = Number.parseInt(text, 10);
      if (text.endsWith("begins") && n > 1) expect(told.slice(0, index)).toContain(`${n - 1} ends`);
    }
  });

  test("workers killed at random: each task is over before the next one begins, and all end", async () => {
    const { acceptAll, pool, told, statuses } = setUp({ maxAttempts: 20, retry: { waitsSeconds: [1] } });
    const all = Array.from({ length: 30 }, () => ({ ms: 2_000 }));
    await acceptAll(...all);
    let seed = 7;
    const random = (count: number) => {
      seed = (seed * 16_807) % 2_147_483_647;
      return seed % count;
    };
    for (let second = 0; second < 4_000 && statuses().some((status) => !isTerminal(status)); second++) {
      await pool.pass(1_000);
      if (second % 5 === 0 && second < 150) pool.kill(random);
    }
    expect(statuses()).toEqual(all.map(() => "completed"));
    const numbers = told.map((text) => Number.parseInt(text, 10));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  });

  test("a task without anything before it costs two reads and two writes of its line", async () => {
    const { accept, pool, lines } = setUp();
    const calls: string[] = [];
    for (const name of [
      "state",
      "states",
      "first",
      "acquirePermits",
      "renewPermit",
      "releasePermit",
      "passPermit",
      "add",
    ] as const) {
      const call = lines[name].bind(lines) as (...given: unknown[]) => never;
      lines[name] = (...given: unknown[]) => {
        calls.push(name);
        return call(...given);
      };
    }
    await accept({ input: { n: 1 } });
    await pool.pass(2_000);
    expect(calls.slice(0, 4)).toEqual(["state", "first", "acquirePermits", "releasePermit"]);
    expect(calls.filter((name) => name.includes("Permit"))).toEqual(["acquirePermits", "releasePermit"]);
  });
});

describe("the turn of a task that does not go on", () => {
  test("a dead letter lets the line go on", async () => {
    const { acceptAll, pool, told, statuses } = setUp({ maxAttempts: 1 });
    await acceptAll({ fails: 9 }, {});
    await pool.pass(5_000);
    expect(statuses()).toEqual(["failed", "completed"]);
    expect(told).toEqual(["1 begins", ...whole(2)]);
  });

  test("a dead letter that is replayed after others have started is next", async () => {
    const { acceptAll, pool, told, ports, letter } = setUp({ maxAttempts: 1 });
    await acceptAll({ fails: 1 }, { ms: 20_000 }, {}, {});
    await pool.pass(5_000);
    expect(await replayOne(ports, await letter(0))).toBe("done");
    await pool.pass(120_000);
    expect(told).toEqual(["1 begins", "2 begins", "2 ends", ...whole(1, 3, 4)]);
  });

  test("with `hold` a dead letter holds its line, until it is replayed and over", async () => {
    const { acceptAll, pool, told, statuses, ports, letter } = setUp({ maxAttempts: 1, onDeadLetter: "hold" });
    await acceptAll({ fails: 2 }, {}, {});
    await pool.pass(86_400_000, 60_000);
    expect(statuses()).toEqual(["failed", "pending", "pending"]);
    expect(await replayOne(ports, await letter(0))).toBe("done");
    await pool.pass(600_000);
    // It has failed again.
    expect(statuses()).toEqual(["failed", "pending", "pending"]);
    expect(await replayOne(ports, await letter(0))).toBe("done");
    await pool.pass(5_000);
    expect(told).toEqual(["1 begins", "1 begins", ...whole(1, 2, 3)]);
  });

  test("with `hold` a discarded dead letter lets the line go on at once", async () => {
    const { acceptAll, pool, statuses, ports, letter } = setUp({ maxAttempts: 1, onDeadLetter: "hold" });
    await acceptAll({ fails: 2 }, {}, {});
    await pool.pass(3_600_000, 60_000);
    expect(await discardOne(ports, await letter(0))).toBe("done");
    await pool.pass(3_000);
    expect(statuses()).toEqual(["failed", "completed", "completed"]);
  });

  test("the record of a dead letter that held its line is gone: the line goes on", async () => {
    const { acceptAll, pool, statuses } = setUp({ maxAttempts: 1, onDeadLetter: "hold" });
    await acceptAll({ fails: 2 }, {});
    await pool.pass(13 * 86_400_000, 600_000);
    expect(statuses()).toEqual(["failed", "pending"]);
    await pool.pass(2 * 86_400_000, 600_000);
    expect(statuses().at(-1)).toBe("completed");
  });

  test.each([
    ["waits for its retry", { fails: 1 }],
    ["sleeps", { sleeps: 86_400 }],
  ])("a task that %s is cancelled: the next one starts at once", async (_, given) => {
    const { acceptAll, pool, told, statuses, ports, records } = setUp();
    await acceptAll(given, {});
    await pool.pass(200_000);
    expect(told).toEqual(["1 begins"]);
    const [first] = records.all();
    if (first !== undefined) await cancel(ports, first);
    await pool.pass(3_000);
    expect(statuses()).toEqual(["cancelled", "completed"]);
  });

  test("a task that waits in the line is cancelled, or expires: those behind it start in their turn", async () => {
    const { acceptAll, pool, told, statuses, ports } = setUp();
    const [, second] = await acceptAll({ ms: 20_000 }, {}, { body: { expires_in_seconds: 5 } }, {});
    if (second !== undefined) await cancel(ports, second);
    await pool.pass(60_000);
    expect(statuses()).toEqual(["completed", "cancelled", "expired", "completed"]);
    expect(told).toEqual(whole(1, 4));
  });

  test("a run-now ends the retry's wait of the task that has the turn", async () => {
    const { acceptAll, pool, told, ports, records } = setUp();
    await acceptAll({ fails: 1 }, {});
    await pool.pass(5_000);
    const [first, second] = records.all();
    if (second !== undefined) await expect(runNow(ports, second)).rejects.toMatchObject({ code: "not_waiting" });
    if (first !== undefined) await runNow(ports, first);
    await pool.pass(5_000);
    expect(told).toEqual(["1 begins", ...whole(1, 2)]);
  });
});

describe("strict order beside other limits", () => {
  test("tasks that come during a pause start in their order after it", async () => {
    const { acceptAll, pool, told, ports, records } = setUp();
    const target = { scope: "type", type: "test.task" } as const;
    const pausing = pause(ports, target, "olga");
    await pool.pass(3_000);
    await pausing;
    const all = Array.from({ length: 25 }, () => ({ ms: 10 }));
    await acceptAll(...all);
    await pool.pass(60_000);
    expect(told).toEqual([]);
    // The others wait behind the first one: what a pause lets go comes by message, in any order.
    const kinds = records.all().map(({ waiting_for }) => waiting_for?.kind);
    expect(kinds).toEqual(["pause", ...all.slice(1).map(() => "concurrency")]);
    await resume(ports, target, "normal", "olga");
    await pool.pass(60_000);
    expect(told).toEqual(whole(...all.map((_, index) => index + 1)));
  });

  test("a task keeps its turn while a pause stops its retry", async () => {
    const { acceptAll, pool, told, ports } = setUp();
    await acceptAll({ fails: 1 }, { body: { priority: "high" } });
    const target = { scope: "tier", tier: "normal" } as const;
    const pausing = pause(ports, target, "olga");
    await pool.pass(3_000);
    await pausing;
    await pool.pass(1_000_000, 10_000);
    expect(told).toEqual(["1 begins"]);
    await resume(ports, target, "normal", "olga");
    await pool.pass(60_000);
    expect(told).toEqual(["1 begins", ...whole(1, 2)]);
  });

  test("a rate delays the starts, and changes no order", async () => {
    const { acceptAll, pool, told } = setUp({ rateLimit: { limit: 1, perSeconds: 10 } });
    await acceptAll({ ms: 10 }, { ms: 10 }, { ms: 10 });
    await pool.pass(60_000);
    expect(told).toEqual(whole(1, 2, 3));
  });

  test("no operator gives a key in strict order a second place", async () => {
    const { acceptAll, pool, told, ports } = setUp();
    await changeLimits(ports, { name: "test.task", priority: "normal" }, { concurrency: 5 }, "olga");
    await pool.pass(5_000);
    await acceptAll({ ms: 5_000 }, { ms: 10 });
    await pool.pass(20_000);
    expect(told).toEqual(whole(1, 2));
  });

  test("a task that waits says so, in its record", async () => {
    const { acceptAll, records } = setUp();
    await acceptAll({ ms: 20_000 }, {});
    const [first, second] = records.all();
    expect(first).toMatchObject({ status: "processing", strict_line: line });
    expect(second).toMatchObject({ line, waiting_for: { kind: "concurrency", order: "strict" } });
  });
});

describe("the turn of a task on its way to a worker", () => {
  /** Two tasks behind a running one: the first of them goes by message, as its tier is another one. */
  const setUpWay = async (onSend: (ticket: Ticket | undefined, tier: Tier) => { delaySeconds?: number }) => {
    const set = setUp();
    const { queues, acceptAll } = set;
    const send = queues.send.bind(queues);
    queues.send = async (message) => send({ ...message, ...onSend(message.ticket, message.tier) });
    await acceptAll({ ms: 5_000 }, { body: { priority: "low" } }, {});
    return set;
  };

  test("it waits in a tier that is ten minutes behind: no other task of its key starts before it", async () => {
    const { pool, told } = await setUpWay((ticket, tier) =>
      ticket?.hasPermit && tier === "low" ? { delaySeconds: 600 } : {},
    );
    await pool.pass(500_000);
    expect(told).toEqual(whole(1));
    await pool.pass(200_000);
    expect(told).toEqual(whole(1, 2, 3));
  });

  test("the process that let it go died before it sent its message: it is sent by the next look", async () => {
    let refused = 0;
    const { pool, told } = await setUpWay((ticket) => {
      if (ticket?.hasPermit && !ticket.isBackup && refused++ === 0) throw new PortUnavailable("dead");
      return {};
    });
    await pool.pass(300_000);
    expect(refused).toBeGreaterThan(1);
    expect(told).toEqual(whole(1, 2, 3));
  });

  test("the process that gave the turn back died before it let the next task go: a later one does not pass that", async () => {
    const { acceptAll, lines, pool, told } = setUp();
    await acceptAll({ ms: 20_000 }, {});
    await pool.pass(10_000);
    // The turn is free for a moment, in which the third task comes.
    const { permits: places } = await lines.state(line);
    for (const [task, untilMs] of places) await lines.releasePermit(line, task, untilMs);
    await acceptAll({ n: 3 });
    await pool.pass(1_300_000);
    expect(told.filter((text) => text.endsWith("begins"))).toEqual(["1 begins", "2 begins", "3 begins"]);
  });

  test("a dead letter's look comes while its turn is passed on: the next task keeps it, and none starts beside it", async () => {
    const { acceptAll, lines, pool, told } = setUp({ maxAttempts: 1 });
    const passPermit = lines.passPermit.bind(lines);
    lines.passPermit = async (...given) => {
      const state = await passPermit(...given);
      // The task is in its line still. The look is in the queue, and another worker gets it now.
      await pool.pass(1);
      return state;
    };
    await acceptAll({ ms: 50, fails: 1 }, { ms: 400 }, { ms: 400 });
    await pool.pass(10_000);
    expect(told).toEqual(["1 begins", ...whole(2, 3)]);
  });

  test("tasks of a line that is throttled wait in one shard, in their order", async () => {
    const { acceptAll, lines, pool, told } = setUp();
    const add = lines.add.bind(lines);
    let refused = 0;
    const throttled = Object.assign(new Error(), { name: "ThrottlingException" });
    lines.add = (...given) => {
      if (refused++ % 2 === 0) return Promise.reject(new PortUnavailable("throttled", { cause: throttled }));
      return add(...given);
    };
    await acceptAll({ ms: 20_000 }, {}, {}, {});
    await pool.pass(10_000);
    expect((await lines.first(line, 10)).map(({ shard }) => shard)).toEqual([undefined, undefined, undefined]);
    await pool.pass(60_000);
    expect(told).toEqual(whole(1, 2, 3, 4));
  });
});
