import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Tier, tiers } from "../../../../src/core/model/words.ts";
import {
  QueueServer,
  type ServeOptions,
  type ServePorts,
  serveMessage,
} from "../../../../src/core/pipeline/work/serve-queues.ts";
import type { WorkQueues } from "../../../../src/core/ports/queues.ts";
import type { Delivery } from "../../../../src/core/ports/tasks.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { MemoryWorkQueues } from "../../../../src/memory/work-queues.ts";
import { gate } from "../../../support/gate.ts";
import { memoryPipeline } from "../../../support/memory-pipeline.ts";
import { typeOf } from "../../../support/task-types.ts";

const minute = 60_000;

/** A pipeline of one container type, and a worker on its queues. */
function served(handler: TaskType["handler"], options: Partial<ServeOptions> & { type?: Partial<TaskType> } = {}) {
  const type = typeOf(handler, { input: z.unknown(), runsOn: "container", timeoutSeconds: 600, ...options.type });
  const pipeline = memoryPipeline([type]);
  const { clock, queues } = pipeline;
  const advance = clock.advance.bind(clock);
  clock.advance = async (ms) => {
    // What just started sets its timers first.
    await advance(0);
    await advance(ms);
  };
  const ports: ServePorts = { ...pipeline.ports, workQueues: new MemoryWorkQueues(queues, clock) };
  const start = (more: Partial<ServeOptions> = {}, of: Partial<ServePorts> = {}) => {
    const server = new QueueServer(
      { ...ports, ...of },
      {
        tiers,
        concurrency: 1,
        runAlone: async (delivery) => void (await serveMessage(ports, delivery, "alone")),
        ...options,
        ...more,
      },
    );
    let over = false;
    const done = server.run().then(() => {
      over = true;
    });
    return { server, done, isOver: () => over };
  };
  /** Submits tasks whose input is their number, from `first`. */
  const submit = async (priority: Tier, count: number, first = 0) => {
    for (let index = 0; index < count; index++) await pipeline.accept({ priority, input: first + index });
  };
  const statuses = async () => {
    const { items } = await pipeline.records.list({ tenantId: "acme", limit: 1_000 });
    return items;
  };
  return { ...pipeline, serve: ports, start, submit, statuses };
}

/** A handler that sleeps on the pipeline's clock, and notes the start of each task. */
function sleeper(ms: number, started: unknown[], sleep: (ms: number) => Promise<void>): TaskType["handler"] {
  return async (input) => {
    started.push(input);
    await sleep(ms);
    return null;
  };
}

/** A pipeline whose tasks take the given time. */
function timed(ms: number, options: Partial<ServeOptions> & { type?: Partial<TaskType> } = {}) {
  const started: number[] = [];
  const worker = served(
    sleeper(ms, started, (time) => new Promise((resolve) => worker.clock.after(time, () => resolve()))),
    options,
  );
  return { ...worker, started };
}

describe("strict priority", () => {
  test("of 100 low tasks that wait, at most one starts before the last of 10 critical tasks that come", async () => {
    const { clock, start, submit, started } = timed(700);
    await submit("low", 100, 1_000);
    start();
    await clock.advance(10_000);
    const before = started.length;
    expect(before).toBeGreaterThan(0);
    await submit("critical", 10);
    await clock.advance(60_000);
    const last = Math.max(...started.flatMap((input, index) => (input < 1_000 ? [index] : [])));
    expect(started.slice(before, last + 1).filter((input) => input >= 1_000).length).toBeLessThanOrEqual(1);
    expect(started.filter((input) => input < 1_000)).toHaveLength(10);
    await clock.advance(5 * minute);
    expect(started).toHaveLength(110);
  });

  test("tasks of all tiers that wait start in the order of their tiers", async () => {
    const { clock, start, submit, started } = timed(200);
    for (const [index, tier] of [...tiers].reverse().entries()) await submit(tier, 5, index * 100);
    start();
    await clock.advance(minute);
    expect(started.map((input) => 3 - Math.floor(input / 100))).toEqual(
      [0, 1, 2, 3].flatMap((tier) => Array(5).fill(tier)),
    );
  });

  test("a task that comes to an idle worker starts immediately, whatever its tier", async () => {
    const { clock, start, submit, started } = timed(10);
    start();
    await clock.advance(10_000);
    for (const tier of [...tiers].reverse()) {
      await submit(tier, 1, tiers.indexOf(tier));
      await clock.advance(20);
    }
    expect(started).toEqual([3, 2, 1, 0]);
  });

  test("a full worker that finds a task for which it has no place gives it back without a receive", async () => {
    const { clock, start, submit, started, queues } = timed(10 * minute - 1);
    start();
    await clock.advance(10_000);
    await submit("low", 1, 7);
    await clock.advance(10);
    await submit("critical", 1, 1);
    await clock.advance(30_000);
    expect(started).toEqual([7]);
    expect(queues.waiting("critical")).toMatchObject([{ receiveCount: 0 }]);
    expect(queues.take("critical", 1, 60, "container")).toHaveLength(1);
  });

  test("a worker of some tiers leaves the others alone", async () => {
    const { clock, start, submit, started, queues } = timed(10, { tiers: ["high"] });
    start();
    for (const tier of tiers) await submit(tier, 1, tiers.indexOf(tier));
    await clock.advance(minute);
    expect(started).toEqual([1]);
    expect(queues.waiting("critical")).toMatchObject([{ receiveCount: 0 }]);
  });
});

describe("places", () => {
  test.each([1, 3, 25])(
    "a worker with %i places never runs more attempts, and uses all of them",
    async (concurrency) => {
      let running = 0;
      let most = 0;
      const worker = served(async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => worker.clock.after(5_000, resolve));
        running -= 1;
        return null;
      });
      await worker.submit("normal", 60);
      worker.start({ concurrency });
      await worker.clock.advance(10 * minute);
      expect(most).toBe(concurrency);
      const items = await worker.statuses();
      expect(items.filter(({ status, attempts }) => status === "completed" && attempts === 1)).toHaveLength(60);
    },
  );

  test("messages of ended tasks are deleted", async () => {
    const { clock, start, submit, queues } = timed(10);
    await submit("normal", 5);
    start({ concurrency: 5 });
    await clock.advance(minute);
    expect(queues.waiting("normal")).toEqual([]);
  });

  test("a queue that does not answer is asked again, and lower tiers wait for it", async () => {
    const { clock, start, submit, started, serve, log } = timed(10);
    let down = true;
    const { workQueues } = serve;
    const shaky: ServePorts["workQueues"] = {
      receive: (tier, ...rest) =>
        down && tier === "critical" ? Promise.reject(new Error("down")) : workQueues.receive(tier, ...rest),
      remove: (delivery) => workQueues.remove(delivery),
    };
    await submit("low", 1);
    start({}, { workQueues: shaky });
    await clock.advance(minute);
    expect(started).toEqual([]);
    expect(log.lines.some(({ message }) => message.includes("could not receive messages"))).toBe(true);
    down = false;
    await clock.advance(20_000);
    expect(started).toEqual([0]);
  });

  test("a worker with free places is stalled when no queue answers for two minutes", async () => {
    const { clock, start } = timed(10);
    const never: ServePorts["workQueues"] = { receive: () => new Promise(() => {}), remove: async () => {} };
    const { server } = start({}, { workQueues: never });
    await clock.advance(119_000);
    expect(server.stalled).toBe(false);
    await clock.advance(2_000);
    expect(server.stalled).toBe(true);
  });

  test("a worker whose places are all taken is not stalled", async () => {
    const { clock, start, submit } = timed(9 * minute);
    await submit("normal", 1);
    const { server } = start();
    await clock.advance(8 * minute);
    expect(server).toMatchObject({ running: 1, stalled: false });
  });
});

describe("a stop", () => {
  test("running attempts finish, and no task starts any more", async () => {
    const { clock, start, submit, statuses } = timed(20_000);
    await submit("normal", 30);
    const { server, done, isOver } = start({ concurrency: 20 });
    await clock.advance(15_000);
    expect(server.running).toBe(20);
    server.stop(30);
    await clock.advance(3_000);
    expect(isOver()).toBe(false);
    await clock.advance(20_000);
    await done;
    const items = await statuses();
    expect(items.filter(({ status, attempts }) => status === "completed" && attempts === 1)).toHaveLength(20);
    expect(items.filter(({ status, attempts }) => status === "pending" && attempts === 0)).toHaveLength(10);
  });

  test("messages that are on their way when it comes start in the next worker, not a minute later", async () => {
    const { clock, serve, start, submit, started } = timed(100);
    const { workQueues } = serve;
    // A queue hides messages as soon as it sends its answer, and a client that gives up never sees it.
    const farAway: WorkQueues = {
      remove: (delivery) => workQueues.remove(delivery),
      async receive(tier, options, signal) {
        const received = await workQueues.receive(tier, options, signal);
        await new Promise<void>((resolve) => {
          clock.after(50, resolve);
          signal.addEventListener("abort", () => resolve());
        });
        return signal.aborted ? [] : received;
      },
    };
    await submit("normal", 20);
    const { server, done } = start({ concurrency: 3 }, { workQueues: farAway });
    while (started.length < 5) await clock.advance(10);
    server.stop(30);
    await clock.advance(5_000);
    await done;
    start({ concurrency: 20 });
    await clock.advance(10_000);
    expect(started).toHaveLength(20);
  });

  test("an idle worker ends immediately", async () => {
    const { clock, start } = timed(10);
    const { server, done } = start();
    await clock.advance(10_000);
    server.stop(30);
    await clock.advance(0);
    await done;
    expect(server.running).toBe(0);
  });

  test("an attempt that goes on is given back after the drain time, and is not counted", async () => {
    let reason: unknown;
    const worker = served(async (_, task) => {
      task.signal.addEventListener("abort", () => {
        reason = task.signal.reason;
      });
      await new Promise(() => {});
      return null;
    });
    await worker.submit("normal", 1);
    const { server, done, isOver } = worker.start();
    await worker.clock.advance(10_000);
    server.stop(30);
    await worker.clock.advance(29_000);
    expect(isOver()).toBe(false);
    await worker.clock.advance(1_000);
    await done;
    expect(reason).toMatchObject({ name: "WorkerStopping" });
    expect(await worker.statuses()).toMatchObject([{ status: "pending", attempts: 0, attempts_total: 1 }]);
    expect(worker.queues.waiting("normal")).toMatchObject([{ receiveCount: 0, visibleAt: worker.clock.now() }]);
  });

  test("a task that was given back runs in the next worker as its first attempt", async () => {
    let hang = true;
    const worker = served(async (_, task) => {
      if (hang) await new Promise(() => {});
      return task.attempt;
    });
    await worker.submit("normal", 1);
    const { server, done } = worker.start();
    await worker.clock.advance(10_000);
    server.stop(0);
    await worker.clock.advance(0);
    await done;
    hang = false;
    worker.start();
    await worker.clock.advance(10_000);
    expect(await worker.statuses()).toMatchObject([{ status: "completed", attempts: 1, attempts_total: 2, result: 1 }]);
  });
});

describe("long attempts", () => {
  const hour = 60 * minute;

  test("an attempt of almost 12 hours is not started twice, and a new message replaces its own before SQS's limit", async () => {
    const { clock, start, submit, started, statuses, queues } = timed(12 * hour - 5_000, {
      type: { timeoutSeconds: 43_200 },
    });
    await submit("normal", 1);
    start();
    await clock.advance(11 * hour);
    const holds: number[] = [];
    const hold = queues.hold.bind(queues);
    queues.hold = async (tier, messages, runsOn) => {
      holds.push(...messages.map(({ seconds }) => clock.now() + seconds * 1000));
      await hold(tier, messages, runsOn);
    };
    await clock.advance(59 * minute);
    expect(Math.max(...holds)).toBeLessThanOrEqual(Date.UTC(2027, 0, 1) + 12 * hour);
    expect(queues.waiting("normal")).toMatchObject([{ receiveCount: 0 }]);
    await clock.advance(10 * minute);
    expect(started).toEqual([0]);
    expect(await statuses()).toMatchObject([{ status: "completed", attempts: 1 }]);
    await clock.advance(20 * minute);
    expect(queues.waiting("normal")).toEqual([]);
    expect(started).toEqual([0]);
  });

  test("a message whose worker dies arrives again when the lease has ended, and the crash is recorded", async () => {
    let dies = true;
    const worker = served(async () => {
      if (dies) await new Promise(() => {});
      return null;
    });
    await worker.submit("normal", 1);
    // The worker dies: from then on its clock stands still.
    let dead = false;
    const clock = {
      now: () => worker.clock.now(),
      after: (ms: number, call: () => void) => worker.clock.after(ms, () => dead || call()),
    };
    worker.start({}, { clock });
    await worker.clock.advance(10_000);
    dead = true;
    dies = false;
    worker.start();
    await worker.clock.advance(10 * minute);
    const [record] = await worker.statuses();
    expect(record).toMatchObject({ status: "completed", attempts: 2 });
    expect(record?.history).toMatchObject([{ outcome: "crashed" }, { outcome: "completed" }]);
  });
});

describe("a task whose last attempt crashed", () => {
  /** Submits a task whose attempt crashed a while ago. */
  const crashed = async (worker: ReturnType<typeof served>, input = 0) => {
    const record = await worker.accept({ input });
    await worker.records.change(record, { when: {}, set: { error_kind: "crashed" } });
    const [message] = worker.queues.take("normal", 1, 60, "container");
    worker.queues.acknowledge(message?.receiptHandle ?? "");
    worker.queues.put("normal", message?.body ?? "", { solo: true, runsOn: "container", tenantId: "acme" });
  };

  test("it goes to the process in which no other attempt runs, and its place stays taken", async () => {
    const worker = timed(10);
    const opened = gate();
    const given: Delivery[] = [];
    const runAlone = async (delivery: Delivery) => {
      given.push(delivery);
      await opened.opened;
    };
    await crashed(worker);
    const { server } = worker.start({ concurrency: 2, runAlone });
    await worker.clock.advance(10_000);
    expect(given).toMatchObject([{ solo: true }]);
    expect(server.running).toBe(1);
    expect(worker.started).toEqual([]);
    opened.open();
    await worker.clock.advance(1_000);
    expect(server.running).toBe(0);
  });

  test("tasks run alone one after the other, and one that waits for half a minute is given back", async () => {
    const worker = timed(10);
    const opened = gate();
    let given = 0;
    const runAlone = async () => {
      given += 1;
      await opened.opened;
    };
    for (const input of [1, 2]) await crashed(worker, input);
    const { server } = worker.start({ concurrency: 4, runAlone });
    await worker.clock.advance(20_000);
    expect({ given, running: server.running }).toEqual({ given: 1, running: 2 });
    await worker.clock.advance(25_000);
    expect({ given, running: server.running }).toEqual({ given: 1, running: 1 });
    expect(worker.queues.waiting("normal").filter(({ receiveCount }) => receiveCount === 0)).toMatchObject([
      { solo: true },
    ]);
  });

  test("a message without the mark is recognised by its record", async () => {
    const worker = timed(10);
    const record = await worker.accept({ input: 5 });
    await worker.records.change(record, { when: {}, set: { error_kind: "crashed" } });
    let given = 0;
    worker.start({
      runAlone: async (delivery) => {
        given += 1;
        await serveMessage(worker.serve, delivery, "alone");
      },
    });
    await worker.clock.advance(30_000);
    expect(given).toBe(1);
    expect(await worker.statuses()).toMatchObject([{ status: "completed", attempts: 1 }]);
  });
});
