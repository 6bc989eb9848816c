import { describe, expect, test } from "vitest";
import { iso, type TaskRecord } from "../../../src/core/model/record.ts";
import { type DeliverPorts, deliverEnd, deliverTry, redeliver } from "../../../src/core/notify/deliver.ts";
import type { Notice, WebhookAnswer, WebhookRequest } from "../../../src/core/ports/notify.ts";
import type { Delivery } from "../../../src/core/ports/webhooks.ts";
import { MemoryDeliveries, MemorySlowHosts } from "../../../src/memory/deliveries.ts";
import { MemoryReceivers } from "../../../src/memory/receivers.ts";
import { gate } from "../../support/gate.ts";
import { pipelineWith } from "../../support/memory-pipeline.ts";
import { notices } from "../../support/parts/notices.ts";
import type { PipelineOptions } from "../../support/pipeline-ports.ts";
import { typeOf } from "../../support/task-types.ts";

const memoryPipeline = pipelineWith(notices);

const url = "https://receiver.example/hook?secret=s3cret";

type Answering = (request: WebhookRequest, signal: AbortSignal) => Promise<WebhookAnswer> | WebhookAnswer;

/** Answers when the signal ends the request, with its reason. */
const hangs: Answering = (_, signal) =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve({ error: (signal.reason as Error).message }), { once: true });
  });

/** A pipeline whose notices are delivered to a receiver. */
function setUp(answering: Answering, options: PipelineOptions = {}, types = [typeOf(() => ({ sum: 7 }))]) {
  const pipeline = memoryPipeline(types, options);
  const requests: { atMs: number; request: WebhookRequest }[] = [];
  let answer = answering;
  const ports: DeliverPorts & { deliveries: MemoryDeliveries } = {
    ...pipeline.ports,
    deliveries: new MemoryDeliveries(),
    receivers: new MemoryReceivers(),
    slowHosts: new MemorySlowHosts(),
    signer: { sign: async (tenantId, id, nowMs) => ({ "webhook-id": id, signed: `${tenantId} ${nowMs}` }) },
    sender: {
      send: async (request, signal) => {
        requests.push({ atMs: pipeline.clock.now(), request });
        return answer(request, signal);
      },
    },
  };
  const deliver = (notice: Notice): Promise<void> => {
    if (notice.kind === "end") return deliverEnd(ports, notice);
    return notice.kind === "try" ? deliverTry(ports, notice) : Promise.resolve();
  };
  const { clock, notices } = pipeline;
  /** Delivers what is due, and advances the time, until nothing is left or the time is over. */
  const run = async (seconds: number): Promise<void> => {
    const untilMs = clock.now() + seconds * 1000;
    for (;;) {
      await pipeline.fire();
      const working = Promise.all(notices.take().map(deliver));
      let done = false;
      void working.then(() => {
        done = true;
      });
      for (let turns = 0; turns < 20; turns++) await Promise.resolve();
      while (!done) await clock.advance(100);
      await working;
      const oneOffs = [...pipeline.oneOffs.all().values()].map(({ at }) => Date.parse(at));
      const next = Math.min(...notices.queued.map(({ visibleAt }) => visibleAt), ...oneOffs);
      if (next > untilMs) break;
      await clock.advance(Math.max(0, next - clock.now()));
    }
    await clock.advance(Math.max(0, untilMs - clock.now()));
  };
  const ended = async (callback: object = { url }, body: object = {}): Promise<TaskRecord> => {
    const record = await pipeline.accept({ callback, ...body });
    await pipeline.work();
    return pipeline.recordOf(record);
  };
  const deliveryOf = async (record: TaskRecord): Promise<Delivery> =>
    (await ports.deliveries.ofTask(record)).at(-1) ?? expect.fail("there is no delivery");
  return {
    ...pipeline,
    ports,
    requests,
    run,
    ended,
    deliveryOf,
    deliver,
    answerWith: (next: Answering) => {
      answer = next;
    },
  };
}

const bodyOf = ({ request }: { request: WebhookRequest }) => JSON.parse(request.body) as Record<string, unknown>;

describe("the first try", () => {
  test("is made at once, with the task as its end left it", async () => {
    const { ended, run, requests, deliveryOf, clock } = setUp(() => ({ status: 204 }));
    const record = await ended();
    await run(1);
    expect(requests).toHaveLength(1);
    const [first] = requests;
    expect(first?.request).toMatchObject({ url, headers: { "webhook-id": expect.stringMatching(/^msg_[\w-]{43}$/) } });
    expect(bodyOf(first as never)).toEqual({
      type: "task.completed",
      timestamp: record.finished_at,
      data: expect.objectContaining({ task_id: record.task_id, status: "completed", result: null, children: null }),
    });
    const { state, tries } = await deliveryOf(record);
    expect({ state, tries }).toEqual({
      state: "delivered",
      tries: [{ at: expect.any(String), duration_ms: 0, status: 204 }],
    });
    await run(100_000);
    expect(requests).toHaveLength(1);
    expect(clock.now()).toBeGreaterThan(0);
  });

  test("contains the result only if the client asked for it", async () => {
    const { ended, run, requests } = setUp(() => ({ status: 200 }));
    await ended({ url, include_result: true });
    await run(1);
    expect(bodyOf(requests[0] as never).data).toMatchObject({ result: { sum: 7 } });
  });

  test("leaves out a result that the status answer would not contain", async () => {
    const large = typeOf(() => "x".repeat(70_000));
    const { ended, run, requests } = setUp(() => ({ status: 200 }), {}, [large]);
    const { task_id } = await ended({ url, include_result: true });
    await run(1);
    expect(bodyOf(requests[0] as never).data).toMatchObject({ result: null, result_url: `/tasks/${task_id}/result` });
  });

  test("is not made for a task without a callback", async () => {
    const { ended, run, requests, notices } = setUp(() => ({ status: 200 }));
    await ended({ url });
    const { accept, work, recordOf } = setUp(() => ({ status: 200 }));
    const record = await accept();
    await work();
    expect((await recordOf(record)).status).toBe("completed");
    expect(notices.queued).toHaveLength(1);
    await run(1);
    expect(requests).toHaveLength(1);
  });

  test("is not repeated when the notice comes again", async () => {
    const { ended, run, requests, notices, deliver } = setUp(() => ({ status: 200 }));
    await ended();
    const [queued] = notices.queued;
    await run(1);
    await deliver(queued?.notice as Notice);
    expect(requests).toHaveLength(1);
  });
});

describe("later tries", () => {
  test("come after 5 s, 30 s, 2 min, 10 min, 30 min, 2 h and 6 h, with one id and one body, and then the delivery has failed", async () => {
    const { ended, run, requests, deliveryOf, metrics } = setUp(() => ({ status: 500 }));
    const record = await ended();
    await run(100_000);
    const [first] = requests;
    const waits = requests.slice(1).map(({ atMs }, index) => (atMs - (requests[index]?.atMs ?? 0)) / 1000);
    expect(waits).toEqual([5, 30, 120, 600, 1800, 7200, 21_600]);
    expect(new Set(requests.map(({ request }) => request.body)).size).toBe(1);
    expect(new Set(requests.map(({ request }) => request.headers["webhook-id"])).size).toBe(1);
    expect(new Set(requests.map(({ request }) => request.headers.signed)).size).toBe(requests.length);
    expect(first).toBeDefined();
    const { state, tries, next_try_at } = await deliveryOf(record);
    expect([state, tries.length, next_try_at]).toEqual(["failed", 8, undefined]);
    expect(metrics.sum("webhook_failed")).toBe(1);
    expect(metrics.sum("webhook_retried")).toBe(7);
  });

  test("are lengthened by up to a quarter", async () => {
    const { ended, run, requests } = setUp(() => ({ status: 503 }), { random: () => 0.999_999 });
    await ended();
    await run(100_000);
    const waits = requests.slice(1).map(({ atMs }, index) => (atMs - (requests[index]?.atMs ?? 0)) / 1000);
    expect(waits).toEqual([7, 38, 150, 750, 2250, 9000, 27_000]);
  });

  test("stop at the first success", async () => {
    let tries = 0;
    const { ended, run, requests, deliveryOf } = setUp(() => ({ status: ++tries < 3 ? 500 : 202 }));
    const record = await ended();
    await run(100_000);
    expect(requests).toHaveLength(3);
    expect((await deliveryOf(record)).tries.map(({ status }) => status)).toEqual([500, 500, 202]);
  });

  test("heed Retry-After when it is longer", async () => {
    const { ended, run, requests } = setUp(() => ({ status: 429, retryAfterSeconds: 100 }));
    await ended();
    await run(240);
    const waits = requests.slice(1).map(({ atMs }, index) => (atMs - (requests[index]?.atMs ?? 0)) / 1000);
    expect(waits).toEqual([100, 100]);
  });

  test.each([
    ["410", { status: 410 }],
    ["an address that may not be reached", { error: "not public", refused: true as const }],
  ])("do not follow %s", async (_, answer) => {
    const { ended, run, requests, deliveryOf } = setUp(() => answer);
    const record = await ended();
    await run(100_000);
    expect(requests).toHaveLength(1);
    expect((await deliveryOf(record)).state).toBe("failed");
  });

  test("follow a redirect's answer and a broken connection as any failure", async () => {
    const answers: WebhookAnswer[] = [{ status: 302 }, { error: "the connection was closed" }, { status: 200 }];
    const { ended, run, deliveryOf } = setUp(() => answers.shift() ?? { status: 200 });
    const record = await ended();
    await run(100_000);
    const { tries, state } = await deliveryOf(record);
    expect([state, tries.map(({ status, error }) => status ?? error)]).toEqual([
      "delivered",
      [302, "the connection was closed", 200],
    ]);
  });

  test("are made once for a message that comes twice", async () => {
    const { ended, run, requests, notices, deliver } = setUp(() => ({ status: 500 }));
    await ended();
    await run(1);
    const [queued] = notices.queued;
    await run(10);
    expect(requests).toHaveLength(2);
    await deliver(queued?.notice as Notice);
    expect(requests).toHaveLength(2);
  });

  test("go on when the process died between the stored try and the message of the next", async () => {
    const { ended, run, requests, notices, ports } = setUp(() => ({ status: 500 }));
    await ended();
    const [queued] = notices.queued;
    const dying = { ...ports, notices: { send: () => Promise.reject(new Error("died")) } };
    await expect(deliverEnd(dying, queued?.notice as never)).rejects.toThrow("died");
    expect(requests).toHaveLength(1);
    await run(70);
    expect(requests).toHaveLength(2);
  });

  test("go on when the first of two messages of one try died before it sent the message of the next", async () => {
    const { ended, run, requests, ports, notices, clock } = setUp(() => ({ status: 500 }));
    await ended();
    const [end] = notices.take();
    const [started, answered] = [gate(), gate<WebhookAnswer>()];
    const send = () => {
      started.open();
      return answered.opened;
    };
    const slow = deliverEnd({ ...ports, sender: { send } }, end as never);
    await started.opened;
    await clock.advance(100);
    const dying = { ...ports, notices: { send: () => Promise.reject(new Error("died")) } };
    await expect(deliverEnd(dying, end as never)).rejects.toThrow("died");
    answered.open({ status: 500 });
    await slow;
    await run(70);
    expect(requests).toHaveLength(2);
  });

  test("go on when the one of two messages that failed died, and the other began in the same millisecond", async () => {
    const { ended, run, requests, ports, notices, deliveryOf, answerWith } = setUp(() => ({ status: 500 }));
    const record = await ended();
    const [end] = notices.take();
    const [started, answered] = [gate(), gate<WebhookAnswer>()];
    const send = () => {
      started.open();
      return answered.opened;
    };
    const other = deliverEnd({ ...ports, sender: { send } }, end as never);
    await started.opened;
    const dying = { ...ports, notices: { send: () => Promise.reject(new Error("died")) } };
    await expect(deliverEnd(dying, end as never)).rejects.toThrow("died");
    answered.open({ status: 200 });
    await other;
    answerWith(() => ({ status: 200 }));
    await run(70);
    expect(requests).toHaveLength(2);
    expect(await deliveryOf(record)).toMatchObject({ state: "delivered" });
  });

  test("are not multiplied by an end that is told again and again", async () => {
    const { ended, run, requests, notices, deliver, deliveryOf } = setUp(() => ({ status: 500 }));
    const record = await ended();
    const [queued] = notices.queued;
    await run(0);
    for (let times = 0; times < 5; times++) await deliver(queued?.notice as Notice);
    await run(100_000);
    expect(requests).toHaveLength(8);
    expect((await deliveryOf(record)).tries).toHaveLength(8);
    expect(notices.queued).toEqual([]);
  });

  test("do not start before the signature is made, however long that takes", async () => {
    const setup = setUp(() => ({ status: 200 }));
    const record = await setup.ended();
    setup.ports.signer = {
      sign: (_, id) => new Promise((resolve) => setup.clock.after(15_000, () => resolve({ "webhook-id": id }))),
    };
    await setup.run(1);
    const { state, tries } = await setup.deliveryOf(record);
    expect([state, tries]).toEqual(["delivered", [expect.objectContaining({ status: 200 })]]);
  });

  test("keep their delivery for longer than a short retention", async () => {
    const { ended, run, deliveryOf, clock } = setUp(() => ({ status: 500 }));
    const record = await ended({ url }, { retention_seconds: 60 });
    await run(30_000);
    expect((await deliveryOf(record)).purge_at * 1000).toBeGreaterThan(clock.now() + 86_400_000);
  });
});

describe("a slow receiver", () => {
  test("has ten seconds for its answer", async () => {
    const { ended, run, deliveryOf, clock } = setUp(hangs);
    const record = await ended();
    const startedAt = clock.now();
    await run(4);
    const { tries } = await deliveryOf(record);
    expect(tries).toEqual([{ at: iso(startedAt), duration_ms: 10_000, error: "no answer within 10 s" }]);
  });

  test("has at most ten requests at once for longer than a second, and loses none", async () => {
    const setup = setUp(hangs);
    const { requests, run, deliveryOf } = setup;
    const records = await Promise.all(Array.from({ length: 60 }, () => setup.accept({ callback: { url } })));
    for (let round = 0; round < 6; round++) await setup.work();
    await run(1);
    const tried = await Promise.all(records.map(deliveryOf));
    expect(tried.filter(({ tries }) => tries.length === 1)).toHaveLength(10);
    expect(tried.filter(({ tries }) => tries.length === 0)).toHaveLength(50);
    expect(requests).toHaveLength(60);
    setup.answerWith(() => ({ status: 200 }));
    await run(3600);
    expect((await Promise.all(records.map(deliveryOf))).map(({ state }) => state)).toEqual(Array(60).fill("delivered"));
  });

  test("that has no place for days is not given up, and its webhook is kept", async () => {
    const setup = setUp(() => ({ status: 200 }));
    const { slowHosts } = setup.ports;
    setup.ports.slowHosts = {
      ...{ areSlow: async () => [true, false], markSlow: async () => {} },
      ...{ acquirePermit: async () => false, releasePermit: async () => {} },
    };
    const record = await setup.ended();
    await setup.run(10 * 86_400);
    const { state, tries, purge_at } = await setup.deliveryOf(record);
    expect([state, tries, setup.requests]).toEqual(["pending", [], []]);
    expect(purge_at * 1000).toBeGreaterThan(setup.clock.now() + 86_400_000);
    setup.ports.slowHosts = slowHosts;
    await setup.run(3_600);
    expect((await setup.deliveryOf(record)).state).toBe("delivered");
  });

  test("that answers once after 1.2 s and else at once holds no webhook up", async () => {
    let count = 0;
    const late: Answering = () =>
      new Promise((resolve) => {
        count += 1;
        setup.clock.after(count === 1 ? 1_200 : 50, () => resolve({ status: 200 }));
      });
    const setup = setUp(late);
    const records: TaskRecord[] = [];
    // Ten a second for 30 s.
    for (let second = 0; second < 30; second++) {
      for (let each = 0; each < 10; each++) records.push(await setup.accept({ callback: { url } }));
      await setup.work();
      await setup.run(1);
    }
    await setup.run(3_600);
    const delays = await Promise.all(
      records.map(async (record) => {
        const { tries } = await setup.deliveryOf(record);
        return Date.parse(tries[0]?.at ?? "") - Date.parse((await setup.recordOf(record)).finished_at ?? "");
      }),
    );
    expect(Math.max(...delays)).toBeLessThan(5_000);
  });

  test("by many names has thirteen places for all of them, and hosts that nobody knows yet need one as well", async () => {
    const setup = setUp(hangs);
    const submit = async (hosts: number, from: number) => {
      for (let count = from; count < from + hosts; count++) {
        await setup.accept({ callback: { url: `https://n${count}.receiver.example/hook` } });
      }
      for (let round = 0; round < 6; round++) await setup.work();
      await setup.run(1);
    };
    await submit(60, 0);
    const tried = setup.ports.deliveries as MemoryDeliveries;
    expect(tried.all().filter(({ tries }) => tries.length === 1)).toHaveLength(13);
    // Requests that a host has no place for end after a second; those of a crowded tenant are not sent.
    expect(setup.requests).toHaveLength(60);
    await submit(60, 60);
    expect(setup.requests.length).toBeLessThanOrEqual(60 + 2 * 13);
    setup.answerWith(() => ({ status: 200 }));
    await setup.run(3_600);
    expect(tried.all().map(({ state }) => state)).toEqual(Array(120).fill("delivered"));
  });

  test("of one tenant does not bound the requests of another tenant to the same host", async () => {
    const setup = setUp(hangs);
    const globex = { tenantId: "globex", principal: "gil", role: "operator" as const };
    for (let count = 0; count < 30; count++) await setup.accept({ callback: { url } });
    for (let round = 0; round < 3; round++) await setup.work();
    await setup.run(1);
    setup.answerWith(() => ({ status: 200 }));
    const other = await setup.accept({ callback: { url } }, { identity: globex });
    await setup.work();
    await setup.run(0);
    expect((await setup.deliveryOf(other)).state).toBe("delivered");
  });
});

describe("a redelivery", () => {
  test("starts a new series of tries with the same id and body", async () => {
    const { ended, run, requests, deliveryOf, ports, answerWith } = setUp(() => ({ status: 500 }));
    const record = await ended();
    await run(100_000);
    expect(requests).toHaveLength(8);
    answerWith(() => ({ status: requests.length < 10 ? 500 : 200 }));
    await redeliver(ports, await deliveryOf(record));
    await run(10);
    expect(requests).toHaveLength(10);
    const { state, tries } = await deliveryOf(record);
    expect([state, tries.length]).toEqual(["delivered", 10]);
    expect(new Set(requests.map(({ request }) => request.body)).size).toBe(1);
  });
});

test("no log line contains the path or the query of the URL", async () => {
  const { ended, run, log } = setUp(() => ({ status: 500 }));
  await ended();
  await run(100_000);
  expect(JSON.stringify(log.lines)).toContain("receiver.example");
  expect(JSON.stringify(log.lines)).not.toMatch(/s3cret|\/hook/);
});
