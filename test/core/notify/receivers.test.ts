import { describe, expect, test } from "vitest";
import { PermanentError } from "../../../src/core/model/errors.ts";
import { type DeliverPorts, deliverTry } from "../../../src/core/notify/deliver.ts";
import {
  changeReceiver,
  createReceiver,
  deleteReceiver,
  deliveriesOf,
  type ReceiverPorts,
  rotateReceiverSecret,
  testReceiver,
} from "../../../src/core/notify/manage-receivers.ts";
import { deliverToReceivers, eventOf } from "../../../src/core/notify/notify.ts";
import { fixedWebhookKey, receiverSecrets, webhookSecrets } from "../../../src/core/notify/secret.ts";
import type { EndNotice, OutgoingEvent, WebhookAnswer, WebhookRequest } from "../../../src/core/ports/notify.ts";
import type { Receiver } from "../../../src/core/ports/webhooks.ts";
import { MemoryDeliveries, MemorySlowHosts } from "../../../src/memory/deliveries.ts";
import { MemoryReceivers } from "../../../src/memory/receivers.ts";
import { MemorySecretVersions } from "../../../src/memory/secret-versions.ts";
import { operator } from "../../support/identities.ts";
import { pipelineWith } from "../../support/memory-pipeline.ts";
import { notices } from "../../support/parts/notices.ts";
import { typeOf } from "../../support/task-types.ts";

const memoryPipeline = pipelineWith(notices);

const url = "https://receiver.example/hook";
const day = 86_400_000;

/** A pipeline whose tenant can have receivers. `fails: true` in a task's input makes it fail. */
function setUp(answering: (request: WebhookRequest) => WebhookAnswer = () => ({ status: 204 })) {
  const works = typeOf((input: { fails?: boolean }) => {
    if (input.fails) throw new PermanentError("as asked");
    return 7;
  });
  const other = typeOf(() => 8, { name: "other.type" });
  const secret = typeOf(
    () => {
      throw new PermanentError("the account is closed", { cause: new Error("its number") });
    },
    { name: "secret.type", sensitive: true },
  );
  const pipeline = memoryPipeline([works, other, secret]);
  const { clock, notices } = pipeline;
  const requests: WebhookRequest[] = [];
  const events: OutgoingEvent[] = [];
  let answer = answering;
  const ports: DeliverPorts & ReceiverPorts & { deliveries: MemoryDeliveries; receivers: MemoryReceivers } = {
    ...pipeline.ports,
    deliveries: new MemoryDeliveries(),
    receivers: new MemoryReceivers(),
    slowHosts: new MemorySlowHosts(),
    eventBus: {
      put: async (put) => {
        events.push(...put);
        return put.map(() => undefined);
      },
    },
    signer: {
      sign: async (_, id, __, ___, receiver) => ({ "webhook-id": id, signer: receiver?.webhook_id ?? "the tenant" }),
    },
    sender: {
      send: async (request) => {
        requests.push(request);
        return answer(request);
      },
    },
    urlFault: (given) => (given.startsWith("https:") ? undefined : "expected an https URL"),
  };
  /** Delivers what is due now. */
  const deliver = async () => {
    for (const notice of notices.take()) {
      if (notice.kind === "end") await deliverToReceivers(ports, notice);
      if (notice.kind === "try") await deliverTry(ports, notice);
    }
  };
  const create = async (body: object = {}): Promise<Receiver> => {
    const creating = createReceiver(ports, operator, { url, ...body });
    for (let turns = 0; turns < 20; turns++) await Promise.resolve();
    await clock.advance(2_500);
    notices.receivers.add(operator.tenantId);
    return creating;
  };
  const ended = async (input: object = {}, body: object = {}) => {
    const record = await pipeline.accept({ input, ...body });
    await pipeline.work();
    await deliver();
    return record;
  };
  const read = async (receiver: Receiver) => (await ports.receivers.get(receiver)) ?? expect.fail("it is gone");
  const answerWith = (next: () => WebhookAnswer) => {
    answer = next;
  };
  return { ...pipeline, ports, requests, events, deliver, create, ended, read, answerWith };
}

const bodies = (requests: readonly WebhookRequest[]) =>
  requests.map(({ body }) => JSON.parse(body) as { type: string; data: Record<string, unknown> });

describe("an end of a task", () => {
  test("is delivered to each receiver that asks for it, each with an id and secret of its own, beside others", async () => {
    const { create, ended, requests } = setUp();
    const all = await create();
    await create({ url: "https://failures.example/", events: ["task.failed"] });
    await create({ url: "https://others.example/", types: ["other.type"] });
    const completed = await ended();
    expect(bodies(requests)).toMatchObject([
      { type: "task.completed", data: { task_id: completed.task_id, status: "completed", result: null } },
    ]);
    expect(requests[0]).toMatchObject({ url, headers: { signer: all.webhook_id } });
    requests.length = 0;
    await ended({ fails: true });
    expect(bodies(requests).map(({ type }) => type)).toEqual(["task.failed", "task.failed"]);
    expect(requests.map((one) => one.url)).toEqual([url, "https://failures.example/"]);
    expect(new Set(requests.map(({ headers }) => headers["webhook-id"])).size).toBe(2);
  });

  test("has the error's text, of a sensitive type too, and nothing else of its input and code", async () => {
    const { create, accept, work, deliver, requests, notices } = setUp();
    await create();
    await accept({ input: { card: "4111" }, type: "secret.type" });
    await work();
    const { detail } = eventOf(notices.queued[0]?.notice as EndNotice);
    await deliver();
    const [{ data } = { data: {} }] = bodies(requests);
    expect(data).toMatchObject({ status: "failed", error: "the account is closed (its number)", result: null });
    expect(detail).toMatchObject({ error: "the account is closed (its number)" });
    for (const told of [data, detail]) expect(JSON.stringify(told)).not.toMatch(/4111|stack/);
  });

  test("is delivered once, however often its notice comes", async () => {
    const { create, accept, work, notices, deliver, requests } = setUp();
    await create();
    await accept({ input: {} });
    await work();
    const [queued] = notices.queued;
    await notices.send([queued?.notice as never]);
    await deliver();
    expect(requests).toHaveLength(1);
  });

  test("has no notice without receivers, and none is read", async () => {
    const { accept, work, notices } = setUp();
    await accept({ input: {} });
    await work();
    expect(notices.queued).toEqual([]);
  });

  test("is tried again at the URL that the receiver has then, and given up when it is deleted", async () => {
    const { create, ended, requests, ports, clock, deliver, deliveriesTried } = withTries(
      setUp(() => ({ status: 500 })),
    );
    const receiver = await create();
    const record = await ended();
    await changeReceiver(ports, receiver, { url: "https://moved.example/" });
    await clock.advance(10_000);
    await deliver();
    expect(requests.map((one) => one.url)).toEqual([url, "https://moved.example/"]);
    await deleteReceiver(ports, receiver);
    await clock.advance(60_000);
    await deliver();
    expect(requests).toHaveLength(2);
    expect(await deliveriesTried(record)).toMatchObject([
      { state: "failed", tries: [{ status: 500 }, { status: 500 }, { error: "the receiver was deleted" }] },
    ]);
  });
});

const withTries = (world: ReturnType<typeof setUp>) => ({
  ...world,
  deliveriesTried: (record: { tenant_id: string; task_id: string }) => world.ports.deliveries.ofTask(record),
});

describe("health", () => {
  test("failing since the first of the failed tries, healthy again after one that succeeds", async () => {
    const { create, ended, read, answerWith, clock } = setUp(() => ({ status: 500 }));
    const receiver = await create();
    expect((await read(receiver)).failing_since).toBeUndefined();
    await ended();
    const { failing_since } = await read(receiver);
    expect(failing_since).toBeDefined();
    await clock.advance(day);
    await ended();
    expect((await read(receiver)).failing_since).toBe(failing_since);
    answerWith(() => ({ status: 200 }));
    await ended();
    expect((await read(receiver)).failing_since).toBeUndefined();
  });

  test("after four days it is told that it will be disabled, after five it is, and it can be enabled again", async () => {
    const { create, ended, read, ports, clock, events, metrics, requests } = setUp(() => ({ error: "ECONNREFUSED" }));
    const receiver = await create();
    await ended();
    await clock.advance(4 * day - 1_000);
    await ended();
    expect(events).toEqual([]);
    await clock.advance(1_000);
    await ended();
    await ended();
    expect(events.map(({ detailType }) => detailType)).toEqual(["Webhook Failing"]);
    expect(events[0]?.detail).toMatchObject({ tenant_id: "acme", webhook_id: receiver.webhook_id });
    await clock.advance(day);
    await ended();
    expect(events.map(({ detailType }) => detailType)).toEqual(["Webhook Failing", "Webhook Disabled"]);
    expect(metrics.added.filter(({ name }) => name === "receiver_failing")).toHaveLength(2);
    expect(await read(receiver)).toMatchObject({ enabled: false, disabled_at: expect.any(String) });
    const before = requests.length;
    await ended();
    expect(requests).toHaveLength(before);
    const enabled = await changeReceiver(ports, receiver, { enabled: true });
    expect(enabled).not.toHaveProperty("failing_since");
    expect(enabled).not.toHaveProperty("disabled_at");
    await ended();
    expect(requests).toHaveLength(before + 1);
  });
});

describe("the log", () => {
  test("has each delivery with its body, and the start of the answer, newest first", async () => {
    const { create, ended, ports, clock } = setUp(() => ({ status: 200, text: "thanks" }));
    const receiver = await create();
    const first = await ended();
    await clock.advance(1_000);
    const second = await ended();
    const { items } = await deliveriesOf(ports, receiver, { limit: 10 });
    expect(items.map(({ task_id }) => task_id)).toEqual([second.task_id, first.task_id]);
    expect(items[0]).toMatchObject({ state: "delivered", tries: [{ status: 200, answer: "thanks" }] });
    // Later tries keep a delivery for longer than it was to be kept at first, and it stays in the list.
    const { items: entries } = await ports.receivers.logged(receiver, { limit: 1 });
    expect(entries[0]?.purge_at).toBeGreaterThan((items[0]?.purge_at ?? 0) + 7 * 86_400);
  });

  test("has a delivery once that was logged twice, as its notice came twice", async () => {
    const { create, ended, ports } = setUp();
    const receiver = await create();
    await ended();
    const { items: entries } = await ports.receivers.logged(receiver, { limit: 10 });
    const [entry] = entries;
    expect(entry).toBeDefined();
    if (entry !== undefined) await ports.receivers.log(receiver, { ...entry, at: "2026-12-31T00:00:00.000Z" });
    const { items } = await deliveriesOf(ports, receiver, { limit: 10 });
    expect(items.map(({ id }) => id)).toEqual(entries.map(({ id }) => id));
  });

  test("has a test, which is a webhook of its own type", async () => {
    const { create, ports, deliver, requests } = setUp();
    const receiver = await create();
    const id = await testReceiver(ports, receiver);
    await deliver();
    expect(bodies(requests)).toMatchObject([{ type: "webhook.test", data: { webhook_id: receiver.webhook_id } }]);
    expect((await deliveriesOf(ports, receiver, { limit: 10 })).items).toMatchObject([{ id, state: "delivered" }]);
  });
});

describe("the mark of a tenant with receivers", () => {
  test("is there when the first create returns, and goes with the last receiver", async () => {
    const { create, ports, settings } = withSettings(setUp());
    const first = await create();
    const second = await create();
    expect(await settings()).toEqual(["receivers/acme"]);
    await deleteReceiver(ports, first);
    expect(await settings()).toEqual(["receivers/acme"]);
    await deleteReceiver(ports, second);
    expect(await settings()).toEqual([]);
  });
});

const withSettings = (world: ReturnType<typeof setUp>) => ({
  ...world,
  settings: async () => (await world.flowSettings.all()).map(({ name }) => name),
});

describe("what is refused", () => {
  test.each([
    [{ url: "http://receiver.example/" }, "/url"],
    [{ url: 7 }, "/url"],
    [{ events: [] }, "/events"],
    [{ events: ["task.started"] }, "/events/0"],
    [{ events: ["task.failed", "task.failed"] }, "/events"],
    [{ types: ["no.such"] }, "/types/0"],
    [{ description: "x".repeat(257) }, "/description"],
    [{ secret: "mine" }, "/secret"],
  ])("%j", async (body, path) => {
    const { ports } = setUp();
    const refused = createReceiver(ports, operator, { url, ...body });
    await expect(refused).rejects.toMatchObject({ code: "invalid_input", options: { errors: [{ path }] } });
  });

  test("a 21st receiver", async () => {
    const { create, ports } = setUp();
    for (let count = 0; count < 20; count++) await create();
    await expect(createReceiver(ports, operator, { url })).rejects.toMatchObject({ code: "quota_exceeded" });
  });
});

test("each receiver has a secret of its own, and after a rotation both sign for 24 hours", async () => {
  const { create, ports, clock } = setUp();
  const key = fixedWebhookKey(Buffer.alloc(32, 7).toString("base64"));
  const versions = new MemorySecretVersions();
  const [first, second] = [await create(), await create()];
  const secrets = async (receiver: Receiver) => receiverSecrets({ key, clock }, receiver);
  const tenants = await webhookSecrets({ key, versions, clock }).of("acme");
  const before = await secrets(first);
  expect(new Set([...before, ...(await secrets(second)), ...tenants]).size).toBe(3);
  const rotated = await rotateReceiverSecret(ports, first);
  expect(await secrets(rotated)).toEqual([expect.stringMatching(/^whsec_/), ...before]);
  await clock.advance(day);
  expect(await secrets(rotated)).toHaveLength(1);
  for (let count = 0; count < 4; count++) await rotateReceiverSecret(ports, first);
  await expect(rotateReceiverSecret(ports, first)).rejects.toMatchObject({ code: "conflict" });
});
