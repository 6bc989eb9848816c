import { describe, expect, test } from "vitest";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import { defineTrigger } from "../../../../src/core/schedules/define-trigger.ts";
import { fireArrived } from "../../../../src/core/schedules/fire.ts";
import type { AppTrigger } from "../../../../src/core/schedules/trigger.ts";
import { schedulesPipeline } from "../../../support/schedules-pipeline.ts";
import { failOnce } from "../../../support/shaky.ts";
import { typeOf } from "../../../support/task-types.ts";

const common = { pattern: { source: ["shop"] }, tenantId: "$.detail.tenant" };
const uninstalled = defineTrigger({
  ...{ name: "shop.gone", ...common },
  cancel: { type: "test.task", key: (event) => `shop-${event.detail.id}` },
});
const paid = defineTrigger({
  ...{ name: "order.paid", ...common },
  signal: {
    ...{ type: "test.task", key: "shop-<$.detail.id>", name: "paid" },
    body: (event) => ({ cents: event.detail.cents, by: "shop" }),
  },
});

const event = (id: string, detail: object) => ({
  ...{ version: "0", id, "detail-type": "Any", source: "shop", account: "111122223333" },
  ...{ time: "2027-01-01T00:00:00Z", region: "eu-central-1", resources: [], detail: { tenant: "acme", ...detail } },
});

function setUp(handler: Parameters<typeof typeOf>[0] = () => "result") {
  const pipeline = schedulesPipeline([typeOf(handler)], [], [uninstalled, paid]);
  const fire = (trigger: AppTrigger, id: string, detail: object) => {
    const payload = { kind: "event", trigger: trigger.name, event: event(id, detail) };
    return fireArrived(pipeline.ports, { payload }, pipeline.clock.now() + 300_000);
  };
  const submit = (more: object = {}) =>
    pipeline.accept({ type: "test.task", input: { n: 1 }, unique: { key: "shop-7" }, delay_seconds: 600, ...more });
  return { ...pipeline, fire, submit };
}

describe("a trigger that acts on the task of a key", () => {
  test("is data: a function of the event is recorded as paths", () => {
    expect(uninstalled.act).toEqual({ type: "test.task", key: "shop-<$.detail.id>" });
    expect(paid.act?.signal).toEqual({ name: "paid", body: { cents: "$.detail.cents", by: "shop" } });
  });

  test("cancels it, once, and not the next task of the key when the event comes again", async () => {
    const { fire, submit, recordOf } = setUp();
    const first = await submit();
    expect(await fire(uninstalled, "e1", { id: 7 })).toBe("submitted");
    expect(await recordOf(first)).toMatchObject({ status: "cancelled" });
    const next = await submit();
    expect(next.task_id).not.toBe(first.task_id);
    expect(await fire(uninstalled, "e1", { id: 7 })).toBe("ignored");
    expect(await recordOf(next)).toMatchObject({ status: "pending" });
    expect(await fire(uninstalled, "e2", { id: 7 })).toBe("submitted");
    expect(await recordOf(next)).toMatchObject({ status: "cancelled" });
  });

  test("sends it a signal with values of the event, also when it is delivered again", async () => {
    const { fire, submit, recordOf, work } = setUp((_, task) => task.waitFor("paid", { timeoutSeconds: 3_600 }));
    const record = await submit({ delay_seconds: 0 });
    await work(record.priority);
    for (let times = 0; times < 2; times++) expect(await fire(paid, "e1", { id: 7, cents: 500 })).toBe("submitted");
    await work(record.priority);
    expect(await recordOf(record)).toMatchObject({ status: "completed", result: { cents: 500, by: "shop" } });
    expect(await fire(paid, "e2", { id: 7, cents: 600 })).toBe("ignored");
  });

  test("has no effect without a task of the key, and on another tenant's", async () => {
    const { fire, submit, recordOf } = setUp();
    const record = await submit();
    expect(await fire(uninstalled, "e1", { id: 8 })).toBe("ignored");
    expect(await fire(uninstalled, "e2", { id: 7, tenant: "globex" })).toBe("ignored");
    expect(await recordOf(record)).toMatchObject({ status: "pending" });
  });

  test("is refused without the value of the key, and kept", async () => {
    const { fire, ports } = setUp();
    expect(await fire(uninstalled, "e1", {})).toBe("refused");
    expect(ports.refusedEvents.firings).toMatchObject([{ trigger: "shop.gone" }]);
  });

  test.each(["holder", "take"])(
    "is delivered again after a fault of %s, and then means the same task",
    async (method) => {
      for (const afterwards of [false, true]) {
        const { fire, submit, recordOf, ports } = setUp();
        const record = await submit();
        failOnce(ports.uniqueKeys, method, afterwards);
        await expect(fire(uninstalled, "e1", { id: 7 })).rejects.toThrow(PortUnavailable);
        expect(await fire(uninstalled, "e1", { id: 7 })).toBe("submitted");
        expect(await recordOf(record)).toMatchObject({ status: "cancelled" });
      }
    },
  );
});

test.each([
  [{ cancel: { type: "t", key: "" } }, "key must be a text"],
  [
    { cancel: { type: "t", key: "k" }, signal: { type: "t", key: "k", name: "n" } },
    "expected one of cancel and signal",
  ],
  [{ cancel: { type: "t", key: "<$.details.id>" } }, "key: $.details.id is not a path of an event"],
  [{ signal: { type: "t", key: "k", name: "a b" } }, "signal.name must be the name of a signal"],
  [{ cancel: { type: "t", key: "k" }, input: {} }, "input is not an option"],
  [{ cancel: { key: "k" } }, "type must be a task type"],
])("%j is refused", (options, words) => {
  expect(() => defineTrigger({ name: "one", ...common, ...options } as never)).toThrow(words);
});
