import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { submitChild } from "../../../../src/core/extras/children/child.ts";
import type { TaskRecord } from "../../../../src/core/model/record.ts";
import type { Identity } from "../../../../src/core/model/words.ts";
import type { SubmitCall } from "../../../../src/core/pipeline/submit/submit-ports.ts";
import { currentTask, traceHeaders } from "../../../../src/core/task/ambient.ts";
import type { ChildSubmit } from "../../../../src/core/task/handler-submit.ts";
import probeContext from "../../../../tasks/probe.context.ts";
import { gate } from "../../../support/gate.ts";
import { memoryPipeline } from "../../../support/memory-pipeline.ts";
import { newRecord } from "../../../support/records.ts";
import { typeOf } from "../../../support/task-types.ts";

const identityOf = (tenantId: string): Identity => ({ tenantId, principal: `${tenantId}-key`, role: "operator" });

describe("40 tasks of four tenants in shared batches", () => {
  async function worked() {
    const pipeline = memoryPipeline([probeContext]);
    const records: TaskRecord[] = [];
    for (let index = 0; index < 40; index++) {
      const body = { input: { pause_ms: Math.floor(Math.random() * 40) } };
      const call = {
        identity: identityOf(`tenant-${index % 4}`),
        correlationId: `corr-${randomUUID()}`,
        traceparent: `00-${randomUUID().replaceAll("-", "")}-00f067aa0ba902b7-01`,
      };
      records.push(await pipeline.accept(body, call));
    }
    const batches = await Promise.all(Array.from({ length: 4 }, () => pipeline.work()));
    expect(batches.map((verdicts) => verdicts.length)).toEqual([10, 10, 10, 10]);
    return { ...pipeline, records: await Promise.all(records.map(pipeline.recordOf)) };
  }

  test("each task sees its own context", async () => {
    for (const record of (await worked()).records) {
      expect(record.status).toBe("completed");
      expect(record.result).toEqual({
        tenant_id: record.tenant_id,
        task_id: record.task_id,
        attempt: 1,
        correlation_id: record.correlation_id,
        requested_by: `${record.tenant_id}-key`,
        traceparent: record.traceparent,
      });
    }
  });

  test("each task writes log lines of its own", async () => {
    const { log, records } = await worked();
    const lines = log.lines.filter(({ message }) => message === "this line was logged with the ambient context");
    expect(lines).toHaveLength(40);
    for (const record of records) {
      const own = lines.filter(({ fields }) => fields.task_id === record.task_id);
      expect(own).toMatchObject([
        { fields: { tenant_id: record.tenant_id, correlation_id: record.correlation_id, attempt: 1 } },
      ]);
    }
  });
});

describe("the ambient context", () => {
  test("the ambient context exists for what the handler starts, and is gone when the attempt has ended", async () => {
    const held = gate();
    const seen: unknown[] = [];
    const later = gate();
    const { accept, work } = memoryPipeline([
      typeOf(async () => {
        const nested = async () => {
          await sleep(1);
          seen.push(currentTask()?.tenantId);
        };
        await nested();
        void held.opened.then(() => {
          seen.push(currentTask());
          later.open();
        });
        return null;
      }),
    ]);
    await accept();
    await work();
    held.open();
    await later.opened;
    expect(seen).toEqual(["acme", undefined]);
    expect(currentTask()).toBeUndefined();
  });

  test("outgoing calls get the task's ids, from the context or around it", async () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const seen: unknown[] = [];
    const { accept, work } = memoryPipeline([typeOf((_, task) => seen.push(task.traceHeaders(), traceHeaders()))]);
    await accept({}, { correlationId: "corr-7", traceparent });
    await work();
    await accept({}, { correlationId: "corr-8" });
    await work();
    const [first, second] = [{ "x-correlation-id": "corr-7", traceparent }, { "x-correlation-id": "corr-8" }];
    expect(seen).toEqual([first, first, second, second]);
    expect(traceHeaders()).toEqual({});
  });
});

test("a submit without a tenant does not compile, and a child belongs to its parent's tenant", async () => {
  const submit = (call: Pick<SubmitCall, "identity" | "body" | "correlationId">) => call;
  // @ts-expect-error there is no tenant
  submit({ identity: { principal: "olga", role: "operator" }, body: {}, correlationId: "c" });
  // @ts-expect-error there is no identity
  submit({ body: {}, correlationId: "c" });
  // @ts-expect-error a handler's submit is for its own tenant, and can name no other
  const child: ChildSubmit = { type: "echo", input: { value: 1 }, tenantId: "globex" };
  const { ports, records } = memoryPipeline();
  await submitChild(ports)(newRecord({ tenant_id: "acme" }), child, "#1");
  expect(records.all()).toMatchObject([{ tenant_id: "acme" }]);
});
