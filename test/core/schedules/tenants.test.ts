import { expect, test } from "vitest";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { submit } from "../../../src/core/pipeline/submit/submit.ts";
import { tenantNoter } from "../../../src/core/schedules/tenants.ts";
import { MemoryTenants } from "../../../src/memory/schedules.ts";
import { gate } from "../../support/gate.ts";
import { operator } from "../../support/identities.ts";
import { KeptLog } from "../../support/kept.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { echo } from "../../support/task-types.ts";

test("a tenant is saved once in a process, also when fifty submits are its first", async () => {
  const tenants = new MemoryTenants();
  const noted: string[] = [];
  const counting = {
    ...tenants,
    list: tenants.list.bind(tenants),
    note: async (tenantId: string) => {
      noted.push(tenantId);
      await tenants.note(tenantId);
    },
  };
  const note = tenantNoter(counting, new KeptLog());
  await Promise.all(Array.from({ length: 50 }, () => note("acme")));
  for (const tenantId of ["acme", "acme", "globex", "acme"]) await note(tenantId);
  expect(noted).toEqual(["acme", "globex"]);
  expect((await tenants.list({ limit: 10 })).items).toEqual(["acme", "globex"]);
});

test("a save that fails is repeated the next time, and fails nothing else", async () => {
  const tenants = new MemoryTenants();
  const log = new KeptLog();
  let down = true;
  const shaky = {
    list: tenants.list.bind(tenants),
    note: (tenantId: string) => (down ? Promise.reject(new PortUnavailable("the table")) : tenants.note(tenantId)),
  };
  const note = tenantNoter(shaky, log);
  await note("acme");
  expect(log.lines).toMatchObject([{ level: "warn", fields: { tenant_id: "acme" } }]);
  down = false;
  await note("acme");
  expect((await tenants.list({ limit: 10 })).items).toEqual(["acme"]);
});

test("a submit saves the tenant at the same time as the record, and answers only when both are saved", async () => {
  const { ports, records } = memoryPipeline([echo]);
  const [noting, creating] = [gate(), gate()];
  const steps: string[] = [];
  const create = records.create.bind(records);
  records.create = async (...call) => {
    steps.push("record");
    await creating.opened;
    return create(...call);
  };
  const noteTenant = async (tenantId: string) => {
    steps.push(tenantId);
    await noting.opened;
  };
  const call = { identity: operator, body: { type: "echo", input: { value: 1 } }, correlationId: "c" };
  let answered = false;
  const accepted = submit({ ...ports, noteTenant }, { ...call, idempotencyKey: undefined }).then(() => {
    answered = true;
  });
  await new Promise(setImmediate);
  expect(steps).toEqual(["acme", "record"]);
  creating.open();
  await new Promise(setImmediate);
  expect(answered).toBe(false);
  noting.open();
  await accepted;
});

test("a submit that is refused saves no tenant", async () => {
  const { ports } = memoryPipeline([echo]);
  const noted: string[] = [];
  const noteTenant = async (tenantId: string) => void noted.push(tenantId);
  const call = { identity: operator, body: { type: "unknown" }, correlationId: "c", idempotencyKey: undefined };
  await expect(submit({ ...ports, noteTenant }, call)).rejects.toThrow();
  expect(noted).toEqual([]);
});
