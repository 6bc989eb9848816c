import { expect, test } from "vitest";
import { PortUnavailable } from "../../../src/core/errors.ts";
import { tenantNoter } from "../../../src/core/schedules/tenants.ts";
import { MemoryTenants } from "../../../src/memory/schedules.ts";
import { KeptLog } from "../../support/memory-pipeline.ts";

test("a tenant is saved once in a process", async () => {
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
