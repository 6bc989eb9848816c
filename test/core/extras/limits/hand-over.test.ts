import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { cancel } from "../../../../src/core/control/control.ts";
import { changeLimits } from "../../../../src/core/extras/limits/manage-flow.ts";
import type { Ticket } from "../../../../src/core/model/envelope.ts";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import type { TaskRecord } from "../../../../src/core/model/record.ts";
import { workBatch } from "../../../../src/core/pipeline/work/work.ts";
import type { Queues } from "../../../../src/core/ports/tasks.ts";
import { Puller } from "../../../../src/core/task/puller.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { notices } from "../../../support/parts/notices.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits, notices);

const input = z.object({ n: z.number(), ms: z.number() });

interface Start {
  n: number;
  at: number;
}

/** A pipeline whose tier is behind: each message waits `behindSeconds` in it. */
function setUp(limit: number, behindSeconds: number, more: Partial<TaskType> = {}) {
  const starts: Start[] = [];
  const grants: (Ticket | undefined)[] = [];
  const handler = async ({ n, ms }: z.output<typeof input>) => {
    starts.push({ n, at: pipeline.clock.now() });
    await new Promise<void>((resolve) => pipeline.clock.after(ms, resolve));
  };
  const type = typeOf(handler, { input, timeoutSeconds: 30, concurrency: { limit }, ...more });
  const pipeline = memoryPipeline([type]);
  const { queues } = pipeline;
  const put = queues.put.bind(queues);
  queues.put = (tier, body, options = {}) => {
    grants.push(options.ticket);
    put(tier, body, { ...options, delaySeconds: (options.delaySeconds ?? 0) + behindSeconds });
  };
  const submitMany = async (count: number, ms: number) => {
    const accepted: TaskRecord[] = [];
    for (let n = 0; n < count; n++) {
      accepted.push(await pipeline.accept({ input: { n, ms } }));
      // Tasks of one millisecond have no order.
      await pipeline.clock.advance(1);
    }
    return accepted;
  };
  const accept = (given: z.output<typeof input>, more = {}) => pipeline.accept({ input: given, ...more });
  return { ...pipeline, type, pool: workerPool(pipeline), starts, accept, submitMany, grants };
}

describe("a line hands its places over in the worker", () => {
  test.each([0, 30, 90])(
    "60 tasks of 100 ms in 3 places end within seconds in a tier that is %s s behind",
    async (behindSeconds) => {
      const { submitMany, pool, starts, clock, records, grants } = setUp(3, behindSeconds);
      const began = clock.now();
      await submitMany(60, 100);
      await pool.pass((behindSeconds + 5) * 1000, 100);
      expect(starts.map(({ n }) => n)).toEqual(Array.from({ length: 60 }, (_, n) => n));
      expect(Math.max(...starts.map(({ at }) => at)) - began).toBeLessThan((behindSeconds + 4) * 1000);
      await pool.pass(600_000);
      expect(records.all().every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(true);
      // One message for each task that waited: the backup one.
      expect(grants.filter((ticket) => ticket?.hasPermit)).toHaveLength(57);
      expect(grants.filter((ticket) => ticket?.isBackup)).toHaveLength(57);
    },
  );

  test("cancelled tasks leave the line without a message each", async () => {
    const { submitMany, pool, starts, clock, ports } = setUp(1, 30);
    const accepted = await submitMany(202, 40_000);
    await pool.pass(35_000);
    expect(starts).toHaveLength(1);
    for (const record of accepted.slice(1, 201)) await cancel(ports, record);
    const cancelledAt = clock.now();
    await pool.pass(60_000);
    expect(starts.map(({ n }) => n)).toEqual([0, 201]);
    expect((starts[1]?.at ?? 0) - cancelledAt).toBeLessThan(45_000);
  });

  test.each([100, 1])("tasks of %s ms begin while the backup messages are on their way", async (ms) => {
    const { submitMany, pool, starts, clock, ports, records, grants } = setUp(1, 0);
    await submitMany(6, ms);
    const { queues } = ports;
    const sendMs = 40;
    const send = queues.send.bind(queues);
    queues.send = async (message) => {
      if (message.ticket?.isBackup) await new Promise<void>((resolve) => clock.after(sendMs, resolve));
      return send(message);
    };
    await pool.pass(5_000, 1);
    const apart = starts.slice(2).map(({ at }, index) => at - (starts[index + 1]?.at ?? 0));
    expect(Math.max(...apart)).toBeLessThanOrEqual(Math.max(ms, sendMs) + 5);
    await pool.pass(600_000);
    expect(records.all().every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(true);
    expect(grants.filter((ticket) => ticket?.isBackup)).toHaveLength(5);
  });

  test("a place is passed on while others are told of the end, and kept with the same write", async () => {
    const { submitMany, pool, starts, clock, ports, records } = setUp(1, 0);
    await submitMany(6, 100);
    const { lines, notices } = ports;
    const [passPermit, renewPermit] = [lines.passPermit.bind(lines), vi.spyOn(lines, "renewPermit")];
    const wait = () => new Promise<void>((resolve) => clock.after(40, resolve));
    lines.passPermit = (...given) => wait().then(() => passPermit(...given));
    notices.events = true;
    notices.send = wait;
    await pool.pass(5_000, 1);
    const apart = starts.slice(2).map(({ at }, index) => at - (starts[index + 1]?.at ?? 0));
    expect(Math.max(...apart)).toBeLessThanOrEqual(145);
    expect(records.all().every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(true);
    const kept = await Promise.all(renewPermit.mock.results.map(({ value }) => value));
    expect(kept.filter((isKept) => isKept)).toHaveLength(0);
  });

  test("a process hears when a batch has only tasks of a line left, which came by none of its messages", async () => {
    const { submitMany, starts, clock, ports, queues } = setUp(1, 0);
    await submitMany(3, 1_000);
    const decided: boolean[] = [];
    const shared = { onDecided: () => decided.push(true), isShared: () => false };
    const deliveries = queues.take("normal", 10, 60);
    const working = workBatch(ports, deliveries, clock.now() + 900_000, shared);
    await clock.advance(0);
    expect(decided).toEqual([]);
    await clock.advance(1_000);
    expect(decided).toHaveLength(1);
    for (let seconds = 0; seconds < 2; seconds++) await clock.advance(1_000);
    expect(await working).toEqual(["done", "done", "done"]);
    expect(starts).toHaveLength(3);
  });

  test("a place that was passed on for some time before its task starts outlasts the lease", async () => {
    const { submitMany, pool, starts, clock, ports, lines, records } = setUp(1, 0);
    await submitMany(3, 5_000);
    const { notices } = ports;
    notices.events = true;
    notices.send = () => new Promise<void>((resolve) => clock.after(25_000, resolve));
    await pool.pass(62_000, 100);
    expect(starts).toHaveLength(3);
    const running = records.all()[2];
    expect(running?.status).toBe("processing");
    const { permits: places } = await lines.state("concurrency/test.task/acme/");
    expect(places.get(running?.task_id ?? "")).toBeGreaterThan(Date.parse(running?.lease_until ?? ""));
  });

  test("a task whose worker dies in the middle of a line starts again, and the line goes on", async () => {
    const { submitMany, pool, starts, records } = setUp(1, 0);
    await submitMany(6, 1_000);
    await pool.pass(2_500, 100);
    expect(starts.map(({ n }) => n)).toEqual([0, 1, 2]);
    pool.kill(() => 0);
    await pool.pass(600_000);
    expect(records.all().map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => "completed"));
    expect(starts.filter(({ n }) => n === 2)).toHaveLength(2);
    expect(starts).toHaveLength(7);
  });

  test("the worker of a long attempt dies after its first leases: the attempt starts again", async () => {
    const { submitMany, pool, starts, records } = setUp(1, 0, { timeoutSeconds: 800 });
    await submitMany(2, 300_000);
    await pool.pass(500_000);
    expect(starts.map(({ n }) => n)).toEqual([0, 1]);
    pool.kill(() => 0);
    await pool.pass(1_200_000);
    expect(records.all().map(({ status, attempts }) => [status, attempts])).toEqual([
      ["completed", 1],
      ["completed", 2],
    ]);
  });

  test("a worker takes no further task after one could not leave its line, as the queue is down", async () => {
    const { submitMany, pool, starts, lines, queues, clock } = setUp(1, 0);
    const [first, send] = [lines.first.bind(lines), queues.send.bind(queues)];
    await submitMany(5, 1_000);
    await pool.pass(500);
    let looks = 0;
    lines.first = (...given) => {
      looks += 1;
      return first(...given);
    };
    queues.send = () => new Promise((_, fail) => clock.after(20, () => fail(new PortUnavailable("the queue"))));
    await pool.pass(20_000, 100);
    expect(starts).toHaveLength(2);
    expect(looks).toBeLessThan(10);
    queues.send = send;
    await pool.pass(400_000);
    expect(new Set(starts.map(({ n }) => n)).size).toBe(5);
  });

  test("a line of tasks that were delayed gives the worker back after a minute: their tier is not behind by that", async () => {
    const { accept, pool, starts, grants } = setUp(1, 0);
    for (let n = 0; n < 200; n++) await accept({ n, ms: 1_000 }, { delay_seconds: 300 });
    await pool.pass(600_000);
    expect(starts).toHaveLength(200);
    expect(grants.filter((ticket) => ticket?.hasPermit && !ticket.isBackup).length).toBeGreaterThanOrEqual(3);
  });

  test("a line gives the worker back to others after a minute", async () => {
    const { submitMany, pool, starts, grants } = setUp(1, 0);
    await submitMany(200, 1_000);
    await pool.pass(300_000);
    expect(starts).toHaveLength(200);
    expect(grants.filter((ticket) => ticket?.hasPermit && !ticket.isBackup).length).toBeLessThanOrEqual(5);
    expect(grants.filter((ticket) => ticket?.hasPermit && !ticket.isBackup).length).toBeGreaterThanOrEqual(3);
  });

  test("a place that is passed on lets more tasks start when the limit was raised and its checks are lost", async () => {
    const { submitMany, pool, starts, ports, type } = setUp(1, 0);
    await submitMany(8, 4_000);
    // The first task had read an empty line.
    await pool.pass(6_000, 100);
    expect(starts.map(({ n }) => n)).toEqual([0, 1]);
    const queues: Queues = Object.assign(Object.create(ports.queues), { sendCheck: async () => {} });
    await changeLimits({ ...ports, queues }, { name: type.name, priority: "normal" }, { concurrency: 3 }, "olga");
    await pool.pass(4_000, 100);
    expect(starts.map(({ n }) => n)).toEqual([0, 1, 2, 3, 4]);
  });

  test("a worker has one next task at a time, and only those that it may run", () => {
    const task = (id: string): Parameters<Puller["messageFor"]> => [{ id } as Parameters<Puller["messageFor"]>[0], {}];
    const messageOf = (id: string) => ({ delivery: { messageId: id } }) as NonNullable<ReturnType<Puller["pulled"]>>;
    const puller = new Puller(({ id }) => (id === "other" ? undefined : messageOf(id)));
    expect(puller.messageFor(...task("other"))).toBeUndefined();
    puller.pull(messageOf("a"));
    expect(puller.messageFor(...task("b"))).toBeUndefined();
    expect(puller.pulled()).toEqual(messageOf("a"));
    expect(puller.pulled()).toBeUndefined();
  });
});

describe("a line of a rate keeps its pace in a tier that is behind", () => {
  const noPlaces = { concurrency: undefined };

  test.each([0, 30, 90])(
    "60 tasks at 10 a second start within seconds in a tier that is %s s behind",
    async (behindSeconds) => {
      const { submitMany, pool, starts, clock, records } = setUp(1, behindSeconds, {
        ...noPlaces,
        rateLimit: { limit: 10, perSeconds: 1 },
      });
      const began = clock.now();
      await submitMany(60, 100);
      await pool.pass((behindSeconds + 30) * 1000, 100);
      expect(starts).toHaveLength(60);
      const last = Math.max(...starts.map(({ at }) => at));
      expect(last - began).toBeLessThan((behindSeconds + 12) * 1000);
      for (const { at } of starts) {
        expect(starts.filter((other) => other.at >= at && other.at < at + 1_000).length).toBeLessThanOrEqual(10);
      }
      await pool.pass(600_000);
      expect(records.all().every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(true);
    },
  );

  test.each([
    { limit: 1, perSeconds: 10, behindSeconds: 0 },
    { limit: 1, perSeconds: 10, behindSeconds: 30 },
    { limit: 1, perSeconds: 10, behindSeconds: 90 },
    { limit: 1, perSeconds: 30, behindSeconds: 90 },
    { limit: 10, perSeconds: 1, behindSeconds: 0 },
    { limit: 10, perSeconds: 1, behindSeconds: 30 },
    { limit: 10, perSeconds: 1, behindSeconds: 90 },
  ])(
    "$limit starts in $perSeconds s, with more tasks than that, in a tier that is $behindSeconds s behind",
    async (of) => {
      const { limit, perSeconds, behindSeconds } = of;
      const { pool, starts, accept, records, grants } = setUp(1, behindSeconds, {
        ...noPlaces,
        rateLimit: { limit, perSeconds },
      });
      const windows = Math.max(20 / limit, 25 / perSeconds);
      const count = Math.ceil(limit * windows * 1.5);
      for (let n = 0; n < count; n++) {
        await accept({ n, ms: 50 });
        await pool.pass(Math.round((windows * perSeconds * 1_000) / count), 100);
      }
      await pool.pass((behindSeconds + windows * perSeconds * 2) * 1_000, 100);
      expect(starts).toHaveLength(count);
      const at = starts.map((one) => one.at).sort((a, b) => a - b);
      const seconds = ((at.at(-1) ?? 0) - (at[0] ?? 0)) / 1_000;
      expect((count - 1) / seconds / (limit / perSeconds)).toBeGreaterThanOrEqual(0.93);
      for (const [index, time] of at.entries())
        expect((at[index + limit] ?? 1e15) - time).toBeGreaterThanOrEqual(perSeconds * 1_000);
      // Each task's own message, its backup message and a check. The last checks come after the last task.
      const passage = behindSeconds / (perSeconds / limit);
      expect(grants.length).toBeLessThanOrEqual(count * 3.2 + Math.min(100, passage));
      await pool.pass(900_000);
      expect(records.all().every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(true);
    },
  );

  test("tasks that come together, far below the rate, do not wait in a line", async () => {
    const { submitMany, pool, starts, records } = setUp(1, 0, {
      ...noPlaces,
      rateLimit: { limit: 1_000, perSeconds: 1 },
    });
    await submitMany(10, 100);
    await pool.pass(900, 10);
    expect(starts).toHaveLength(10);
    expect(records.all().every(({ line }) => line === undefined)).toBe(true);
  });

  test("a slow rate and places: no window has more starts than the rate", async () => {
    const { submitMany, pool, starts } = setUp(5, 0, { rateLimit: { limit: 1, perSeconds: 10 } });
    await submitMany(12, 25_000);
    await pool.pass(400_000, 100);
    expect(starts).toHaveLength(12);
    const gaps = starts.slice(1).map(({ at }, index) => at - (starts[index]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(10_000);
  });
});
