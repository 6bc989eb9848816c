import { describe, expect, test } from "vitest";
import { type Client, expectProblem, expectStatus } from "../support/http-client.ts";
import { admin, operator, stranger, submitter } from "./callers.ts";
import { createKey, offload } from "./command-line.ts";

interface Entry {
  actor: string;
  role: string | null;
  action: string;
  target: Record<string, string>;
  status: number | null;
  request: unknown;
}

const audit = async (client: Client, query: string): Promise<Entry[]> =>
  expectStatus(await client.get(`/audit?${query}`), 200).json<{ entries: Entry[] }>().entries;

describe.concurrent("the audit", () => {
  test("has each act on a task, also a refused one, for its tenant's operators only", async () => {
    const later = { type: "probe.echo", input: { value: 1 }, delay_seconds: 3_600 };
    const { task_id } = expectStatus(await operator.post("/tasks", later), 202).json<{ task_id: string }>();
    expectStatus(await operator.post(`/tasks/${task_id}/priority`, { priority: "high" }), 200);
    expectStatus(await admin.post(`/tasks/${task_id}/cancel`, {}), 200);
    expectProblem(await operator.post(`/tasks/${task_id}/priority`, { priority: "low" }), 409, "conflict");
    const about = `task_id=${task_id}`;
    expect(await audit(operator, about)).toMatchObject([
      { action: "changeTaskPriority", role: "operator", status: 409, request: { priority: "low" } },
      { action: "cancelTask", role: "admin", status: 200, target: { task_id }, request: null },
      { action: "changeTaskPriority", role: "operator", status: 200, request: { priority: "high" } },
    ]);
    expect(await audit(operator, `${about}&action=cancelTask`)).toHaveLength(1);
    expect(await audit(stranger, about)).toEqual([]);
    expectProblem(await submitter.get("/audit"), 403, "forbidden");
    expectProblem(await operator.get("/audit?scope=deployment"), 403, "forbidden");
  });

  test("has what commands change in the table, with the user of their machine", async () => {
    const { keyId } = await createKey(operator.tenant, "submitter");
    expect(await offload(["keys", "revoke", keyId])).toMatchObject({ code: 0 });
    const entries = (await audit(operator, "limit=100&action=keys%20create")).concat(
      await audit(operator, "limit=100&action=keys%20revoke"),
    );
    const own = entries.filter(({ target }) => target.key_id === keyId);
    expect(own.map(({ action }) => action)).toEqual(["keys create", "keys revoke"]);
    for (const { actor, role } of own) expect([actor, role]).toEqual([expect.stringMatching(/^cli:./), null]);
  });

  test("has what concerns all tenants apart", async () => {
    expectStatus(await admin.post("/queues/critical/resume", {}), 200);
    const [entry] = await audit(admin, "scope=deployment&action=resumeQueue");
    expect(entry).toMatchObject({ target: { tier: "critical" }, role: "admin", status: 200 });
    expect(await audit(admin, "action=resumeQueue")).toEqual([]);
  });
});
