import { expect, test, vi } from "vitest";
import { changeInput, changePriority, reschedule } from "../../../src/core/control/change-waiting.ts";
import { cancel, extend } from "../../../src/core/control/control.ts";
import { runNow } from "../../../src/core/control/run-now.ts";
import { Overtaken } from "../../../src/core/model/errors.ts";
import { longestQueueLifeSeconds, type TaskRecord } from "../../../src/core/model/record.ts";
import { changeReceiver, rotateReceiverSecret } from "../../../src/core/notify/manage-receivers.ts";
import { MemoryReceivers } from "../../../src/memory/receivers.ts";
import { memoryPipeline, type Pipeline } from "../../support/memory-pipeline.ts";
import { operationsPipeline } from "../../support/operations-pipeline.ts";
import { typeOf } from "../../support/task-types.ts";

type Call = (ports: Pipeline["ports"], record: TaskRecord) => Promise<unknown>;

const calls: [string, Call][] = [
  ["a cancel", cancel],
  ["an extension", (ports, record) => extend(ports, record, 1_000_000)],
  ["a run-now", runNow],
  ["a new input", (ports, record) => changeInput(ports, record, { input: 2, version: 1 })],
  ["a new priority", (ports, record) => changePriority(ports, record, "high")],
];

test.each(calls)("%s of a task that others change each time is overtaken, after some tries", async (_, call) => {
  const { ports, accept, records } = memoryPipeline([typeOf(() => 1)]);
  const record = await accept({ delay_seconds: 3600 });
  const change = vi.spyOn(records, "change").mockResolvedValue({ done: false, record });
  await expect(call(ports, record)).rejects.toThrow(Overtaken);
  expect(change).toHaveBeenCalledTimes(3);
});

test.each([
  ["a change", changeReceiver],
  ["a rotation of the secret", rotateReceiverSecret],
])("%s of a receiver that others change each time is overtaken", async (_, call) => {
  const { ports } = memoryPipeline();
  const receivers = new MemoryReceivers();
  const key = { tenant_id: "acme", webhook_id: "w1" };
  vi.spyOn(receivers, "get").mockResolvedValue({ ...key, revision: 1, secret_version: 1, rotated_at: [] } as never);
  vi.spyOn(receivers, "put").mockResolvedValue(false);
  await expect(call({ ...ports, receivers } as never, key, { description: "x" })).rejects.toThrow(Overtaken);
});

test("an operation acts again on a task that others have changed each time", async () => {
  const { accept, start, finish, records, recordOf } = operationsPipeline();
  const record = await accept({ delay_seconds: 3600, input: { n: 1 } });
  const change = records.change.bind(records);
  let overtaken = 0;
  vi.spyOn(records, "change").mockImplementation(async (key, given) => {
    if (given.set?.status !== "cancelled" || overtaken >= 4) return change(key, given);
    overtaken++;
    return { done: false, record };
  });
  expect(await finish(await start("cancel", {}, { matched: [record] }))).toMatchObject({
    matched: 1,
    done: 1,
    failed: 0,
  });
  expect([overtaken, await recordOf(record)]).toMatchObject([4, { status: "cancelled" }]);
});

const daySeconds = 86_400;

test("a cancel that an extension has overtaken keeps the task for as long as was promised", async () => {
  const { ports, accept, clock } = memoryPipeline([typeOf(() => 1)]);
  const asRead = await accept({ delay_seconds: 3600, retention_seconds: 60 });
  await extend(ports, asRead, 30 * daySeconds);
  const { status, retained_until = "" } = await cancel(ports, asRead);
  const keptSeconds = (Date.parse(retained_until) - clock.now()) / 1000;
  expect({ status, keptSeconds }).toEqual({ status: "cancelled", keptSeconds: 30 * daySeconds });
});

test("a move of the start that an extension has overtaken keeps the record for the longer retention after it", async () => {
  const { ports, accept, clock } = memoryPipeline([typeOf(() => 1)]);
  const asRead = await accept({ delay_seconds: 3600, retention_seconds: 60 });
  // So short that the record is kept for longer anyway, as long as its start does not move.
  await extend(ports, asRead, daySeconds);
  const dueMs = clock.now() + 20 * daySeconds * 1000;
  const moved = await reschedule(ports, asRead, dueMs, true);
  expect(moved.purge_at - dueMs / 1000).toBeGreaterThan((longestQueueLifeSeconds + daySeconds) * 0.999);
});
