import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { defaultSettings, type QueueSettings } from "../../../src/local/sqs/queue-message.ts";
import { QueueStore } from "../../../src/local/sqs/queue-store.ts";
import { FakeClock, settle } from "../fake-clock.ts";

function newStore(settings: Partial<QueueSettings> = {}) {
  const clock = new FakeClock();
  const store = new QueueStore({ clock });
  store.define("q", { ...defaultSettings, ...settings });
  return { store, clock };
}

function sendMany(store: QueueStore, groupId: string | undefined, count: number) {
  for (let number = 0; number < count; number += 1) store.send("q", { body: `${groupId}-${number}`, groupId });
}

function bodies(messages: { body: string }[]) {
  return messages.map(({ body }) => body);
}

function receiveOne(store: QueueStore, queue = "q", visibilitySeconds?: number) {
  const [message] = store.receive(queue, 1, { visibilitySeconds });
  if (message === undefined) throw new Error(`nothing visible in ${queue}`);
  return message;
}

describe("one message", () => {
  test("a message arrives with its attributes, group and times", async () => {
    const { store, clock } = newStore();
    const sentAt = clock.now();
    const messageAttributes = { "offload.solo": { DataType: "String", StringValue: "1" } };
    const { messageId } = store.send("q", { body: "b", groupId: "acme", traceHeader: "Root=1", messageAttributes });
    await clock.advance(2);
    expect(receiveOne(store)).toMatchObject({
      messageId,
      body: "b",
      bodyMd5: "92eb5ffee6ae2fec3ad71c777531578f",
      messageAttributes,
      attributes: {
        MessageGroupId: "acme",
        AWSTraceHeader: "Root=1",
        SentTimestamp: String(sentAt),
        ApproximateFirstReceiveTimestamp: String(sentAt + 2000),
        ApproximateReceiveCount: "1",
      },
    });
  });

  test("a message is hidden until its visibility ends, and only receives are counted", async () => {
    const { store, clock } = newStore({ visibilitySeconds: 30 });
    store.send("q", { body: "b" });
    const first = receiveOne(store);
    store.changeVisibility("q", first.receiptHandle, 60);
    store.changeVisibility("q", first.receiptHandle, 60);
    await clock.advance(59);
    expect(store.receive("q", 10)).toEqual([]);
    await clock.advance(1);
    expect(receiveOne(store).attributes.ApproximateReceiveCount).toBe("2");
  });

  test("a visibility of 0 makes a message visible immediately", () => {
    const { store } = newStore();
    store.send("q", { body: "b" });
    store.changeVisibility("q", receiveOne(store).receiptHandle, 0);
    expect(receiveOne(store).attributes.ApproximateReceiveCount).toBe("2");
  });

  test("a message waits for its own delay, or else the queue's", async () => {
    const { store, clock } = newStore({ delaySeconds: 5 });
    store.send("q", { body: "slow", delaySeconds: 10 });
    store.send("q", { body: "usual" });
    store.send("q", { body: "now", delaySeconds: 0 });
    expect(store.counts("q")).toMatchObject({ visible: 1, delayed: 2, inFlight: 0 });
    expect(bodies(store.receive("q", 10))).toEqual(["now"]);
    await clock.advance(5);
    expect(bodies(store.receive("q", 10))).toEqual(["usual"]);
    await clock.advance(5);
    expect(bodies(store.receive("q", 10))).toEqual(["slow"]);
  });

  test("a message is gone after its retention, in flight or not", async () => {
    const { store, clock } = newStore({ retentionSeconds: 60, visibilitySeconds: 300 });
    sendMany(store, "a", 2);
    receiveOne(store);
    await clock.advance(61);
    expect(store.counts("q")).toEqual({ visible: 0, inFlight: 0, delayed: 0, oldestSentAt: undefined });
  });
});

describe("receipt handles", () => {
  test("the newest receipt handle deletes, also when the message is visible again", async () => {
    const { store, clock } = newStore({ visibilitySeconds: 1 });
    store.send("q", { body: "b" });
    const { receiptHandle } = receiveOne(store);
    await clock.advance(1);
    store.delete("q", receiptHandle);
    expect(store.counts("q")).toMatchObject({ visible: 0, inFlight: 0 });
  });

  test("an earlier receipt handle, or one of a deleted message, does nothing", async () => {
    const { store, clock } = newStore({ visibilitySeconds: 1 });
    store.send("q", { body: "b" });
    const old = receiveOne(store);
    await clock.advance(1);
    const { receiptHandle } = receiveOne(store);
    store.delete("q", old.receiptHandle);
    expect(store.counts("q").inFlight).toBe(1);
    store.delete("q", receiptHandle);
    store.delete("q", receiptHandle);
    expect(store.counts("q").inFlight).toBe(0);
  });

  test("an old receipt handle, or one of a visible or deleted message, changes no visibility", async () => {
    const { store, clock } = newStore({ visibilitySeconds: 1 });
    store.send("q", { body: "b" });
    const { receiptHandle } = receiveOne(store);
    const change = () => store.changeVisibility("q", receiptHandle, 10);
    await clock.advance(1);
    expect(change).toThrow(expect.objectContaining({ code: "MessageNotInflight" }));
    const newest = receiveOne(store);
    expect(change).toThrow(expect.objectContaining({ code: "InvalidParameterValue" }));
    store.delete("q", newest.receiptHandle);
    expect(change).toThrow(expect.objectContaining({ code: "InvalidParameterValue" }));
  });

  test("a receipt handle of another queue, or made-up text, is refused", () => {
    const { store } = newStore();
    store.send("q", { body: "b" });
    const { receiptHandle } = receiveOne(store);
    const invalid = expect.objectContaining({ code: "ReceiptHandleIsInvalid" });
    expect(() => store.delete("other", receiptHandle)).toThrow(invalid);
    expect(() => store.delete("q", "rubbish")).toThrow(invalid);
    expect(() => store.changeVisibility("q", "rubbish", 1)).toThrow(invalid);
  });
});

describe("fairness", () => {
  test("a tenant with 5 tasks does not wait behind one with 5,000", () => {
    const { store } = newStore();
    sendMany(store, "a", 5000);
    sendMany(store, "b", 5);
    const received = bodies([...store.receive("q", 10), ...store.receive("q", 10)]);
    expect(received.filter((body) => body.startsWith("b"))).toEqual(["b-0", "b-1", "b-2", "b-3", "b-4"]);
  });

  test("groups with the fewest messages in flight come first", () => {
    const { store } = newStore();
    sendMany(store, "a", 10);
    store.receive("q", 4);
    sendMany(store, "b", 10);
    expect(bodies(store.receive("q", 6))).toEqual(["b-0", "b-1", "b-2", "b-3", "a-4", "b-4"]);
  });

  test("the oldest message of a group comes first, also after it was released", () => {
    const { store } = newStore();
    sendMany(store, "a", 3);
    store.changeVisibility("q", receiveOne(store).receiptHandle, 0);
    expect(bodies(store.receive("q", 3))).toEqual(["a-0", "a-1", "a-2"]);
  });

  test("the oldest message without a group comes first", () => {
    const { store } = newStore();
    sendMany(store, undefined, 12);
    const received = bodies([...store.receive("q", 10), ...store.receive("q", 10)]);
    expect(received).toEqual(Array.from({ length: 12 }, (_, number) => `undefined-${number}`));
  });
});

describe("redrive", () => {
  test("redrive moves a message that was received often enough, whole, and never delivers it again", async () => {
    const { store, clock } = newStore({ visibilitySeconds: 1, redrive: { target: "dlq", maxReceiveCount: 2 } });
    const sentAt = clock.now();
    const messageAttributes = { n: { DataType: "Number", StringValue: "7" } };
    const { messageId } = store.send("q", { body: "b", groupId: "acme", messageAttributes });
    for (let receive = 0; receive < 2; receive += 1) {
      receiveOne(store);
      await clock.advance(1);
    }
    expect(store.receive("q", 10)).toEqual([]);
    expect(store.counts("q")).toMatchObject({ visible: 0, inFlight: 0 });
    expect(receiveOne(store, "dlq")).toMatchObject({
      messageId,
      body: "b",
      messageAttributes,
      attributes: {
        MessageGroupId: "acme",
        SentTimestamp: String(sentAt),
        ApproximateReceiveCount: "3",
        DeadLetterQueueSourceArn: "arn:aws:sqs:us-east-1:000000000000:q",
      },
    });
  });

  test("redrive counts the receives of each queue of a chain separately", () => {
    const { store } = newStore({ redrive: { target: "middle", maxReceiveCount: 1 } });
    store.define("middle", { ...defaultSettings, redrive: { target: "end", maxReceiveCount: 1 } });
    store.send("q", { body: "b" });
    store.changeVisibility("q", receiveOne(store).receiptHandle, 0);
    expect(store.receive("q", 1)).toEqual([]);
    store.changeVisibility("middle", receiveOne(store, "middle").receiptHandle, 0);
    expect(store.receive("middle", 1)).toEqual([]);
    expect(receiveOne(store, "end").attributes.DeadLetterQueueSourceArn).toMatch(/:middle$/);
  });
});

describe("waiting", () => {
  test("a waiting reader is called when a message is sent, released, or ends its delay or visibility", async () => {
    const { store, clock } = newStore({ visibilitySeconds: 60 });
    const calls: number[] = [];
    const start = clock.now();
    store.onAvailable("q", () => calls.push((clock.now() - start) / 1000));
    store.send("q", { body: "b" });
    await settle();
    const { receiptHandle } = receiveOne(store);
    await clock.advance(5);
    store.changeVisibility("q", receiptHandle, 0);
    await settle();
    receiveOne(store);
    await clock.advance(100);
    receiveOne(store, "q", 1000);
    store.send("q", { body: "later", delaySeconds: 10 });
    await clock.advance(100);
    expect(calls).toEqual([0, 5, 65, 115]);
  });

  test("waiting ends immediately when it is aborted, or when there is a message", async () => {
    const { store } = newStore();
    const ended: string[] = [];
    const wait = (name: string, signal?: AbortSignal) => store.whenAvailable("q", signal).then(() => ended.push(name));
    const abort = new AbortController();
    void wait("aborted", abort.signal);
    void wait("patient");
    await settle();
    expect(ended).toEqual([]);
    abort.abort();
    await settle();
    expect(ended).toEqual(["aborted"]);
    store.send("q", { body: "b" });
    await settle();
    expect(ended).toEqual(["aborted", "patient"]);
    void wait("late");
    await settle();
    expect(ended).toEqual(["aborted", "patient", "late"]);
  });

  test.each([
    ["counts", (store: QueueStore) => store.counts("q")],
    ["a delete", (store: QueueStore, handle: string) => store.delete("q", handle)],
  ])("a waiting reader learns of a due message even when %s comes before the timer", async (_, call) => {
    const { store, clock } = newStore({ visibilitySeconds: 600 });
    store.send("q", { body: "in flight" });
    const { receiptHandle } = receiveOne(store);
    store.send("q", { body: "delayed", delaySeconds: 10 });
    let available = false;
    void store.whenAvailable("q").then(() => {
      available = true;
    });
    clock.skip(10);
    call(store, receiptHandle);
    await clock.advance(60);
    expect(available).toBe(true);
  });

  test("a waiting reader is called once for many messages", async () => {
    const { store } = newStore();
    let calls = 0;
    const stop = store.onAvailable("q", () => {
      calls += 1;
    });
    sendMany(store, "a", 10);
    await settle();
    stop();
    sendMany(store, "a", 10);
    await settle();
    expect(calls).toBe(1);
  });
});

test("purge empties one queue", () => {
  const { store } = newStore();
  sendMany(store, "a", 3);
  store.send("other", { body: "b" });
  store.purge("q");
  expect(store.counts("q").visible).toBe(0);
  expect(store.counts("other").visible).toBe(1);
});

test("a failing database changes nothing", () => {
  const { store } = newStore();
  sendMany(store, "a", 3);
  vi.spyOn(store.rows, "receive")
    .mockImplementationOnce(store.rows.receive.bind(store.rows))
    .mockImplementationOnce(() => {
      throw new Error("disk full");
    });
  expect(() => store.receive("q", 3)).toThrow("disk full");
  expect(store.counts("q")).toMatchObject({ visible: 3, inFlight: 0 });
  const received = store.receive("q", 3);
  expect(bodies(received)).toEqual(["a-0", "a-1", "a-2"]);
  expect(received.map(({ attributes }) => attributes.ApproximateReceiveCount)).toEqual(["1", "1", "1"]);
});

describe("a restart", () => {
  test("a restart keeps all messages, and those in flight until their visibility ends or they are released", async () => {
    const stateDir = mkdtempSync(join(tmpdir(), "offload-"));
    const clock = new FakeClock();
    const before = new QueueStore({ stateDir, clock });
    before.send("q", { body: "held", groupId: "a" });
    const { receiptHandle } = receiveOne(before, "q", 60);
    before.send("q", { body: "delayed", delaySeconds: 60 });
    before.send("q", { body: "visible", groupId: "a" });
    before.close();
    clock.skip(10);

    const after = new QueueStore({ stateDir, clock });
    expect(after.counts("q")).toMatchObject({ visible: 1, inFlight: 1, delayed: 1 });
    expect(bodies(after.receive("q", 10))).toEqual(["visible"]);
    after.releaseAll();
    expect(after.counts("q")).toMatchObject({ visible: 2, inFlight: 0, delayed: 1 });
    const held = receiveOne(after);
    expect(held).toMatchObject({ body: "held", attributes: { ApproximateReceiveCount: "2", MessageGroupId: "a" } });
    expect(held.receiptHandle).not.toBe(receiptHandle);
    await clock.advance(50);
    expect(bodies(after.receive("q", 10))).toContain("delayed");
    after.close();
  });

  test("a restart is refused while another server uses the directory", () => {
    const stateDir = mkdtempSync(join(tmpdir(), "offload-"));
    const first = new QueueStore({ stateDir });
    expect(() => new QueueStore({ stateDir })).toThrow(/in use by another server/);
    first.close();
    new QueueStore({ stateDir }).close();
  });
});
