import { describe, expect, test } from "vitest";
import { Client, expectProblem, expectStatus, until } from "../support/http-client.ts";
import { admin, anonymous, operator, stranger, submitter, uniqueTags } from "./callers.ts";
import { deployed } from "./command-line.ts";

interface KeyInfo {
  key_id: string;
  tenant_id: string;
  role: string;
  label: string | null;
  revoked_at: string | null;
}

/** Makes a key over HTTP, and a client that has it. */
async function createKey(role: string, tenant = operator.tenant) {
  const label = "an e2e test";
  const answer = expectStatus(await admin.post(`/keys?tenant=${tenant}`, { role, label }), 201);
  const { key: token, ...info } = answer.json<KeyInfo & { key: string }>();
  expect(info).toMatchObject({ tenant_id: tenant, role, label, revoked_at: null });
  return { token, info, client: new Client(process.env.OFFLOAD_URL ?? "", { token, tenant, role }) };
}

const listed = async (tenant: string, { key_id }: KeyInfo) => {
  const answer = expectStatus(await admin.get(`/keys?tenant=${tenant}`), 200);
  return answer.json<{ keys: KeyInfo[] }>().keys.find((key) => key.key_id === key_id);
};

const revoke = (key: KeyInfo, by = admin) => by.send("DELETE", `/keys/${key.key_id}?tenant=${key.tenant_id}`);

/** The limits of a tenant that no other test has. */
const limitsPath = "/tenants/soylent/limits";

interface Series {
  name: string;
  tier: string;
  points: [number, number][];
}

describe.concurrent("an admin over HTTP", () => {
  test("makes a key that opens its tenant in its role, and knows who it is", async () => {
    const { client, info } = await createKey("submitter");
    const { task_id } = await client.submit("probe.echo", { value: 1 });
    expect(await client.ended(task_id)).toMatchObject({ requested_by: info.key_id, status: "completed" });
    const who = { tenant_id: operator.tenant, principal: info.key_id, role: "submitter" };
    expect(expectStatus(await client.get("/identity"), 200).json()).toEqual(who);
    expectProblem(await client.get("/keys"), 403, "forbidden");
  });

  test("revokes a key, which opens nothing; each act is in the audit without the secret", async () => {
    const { client, info, token } = await createKey("operator", stranger.tenant);
    expectStatus(await revoke(info), 200);
    // No process remembers a key that was never used: it is refused at once.
    expectProblem(await client.get("/tasks?limit=1"), 401, "unauthenticated");
    expect(await listed(stranger.tenant, info)).toMatchObject({ revoked_at: expect.stringMatching(/^20/) });
    const answer = expectStatus(await stranger.get("/audit?limit=100"), 200);
    const { entries } = answer.json<{ entries: { action: string; target: Record<string, string> }[] }>();
    const own = entries.filter(({ target }) => target.key_id === info.key_id);
    expect(own.map(({ action }) => action).sort()).toEqual(["createKey", "revokeKey"]);
    for (const { target } of own) expect(target).toEqual({ key_id: info.key_id, role: "operator" });
    const secret = token.split("_").slice(2).join("_");
    expect(JSON.stringify(entries) + (await admin.get(`/keys?tenant=${stranger.tenant}`)).text).not.toContain(secret);
  });

  test("cannot revoke the key that it uses, and can revoke it with another one", async () => {
    const { client, info } = await createKey("admin");
    expectProblem(await revoke(info, client), 409, "conflict");
    expect(await listed(operator.tenant, info)).toMatchObject({ revoked_at: null });
    expectStatus(await revoke(info), 200);
  });

  test("looks at all tenants, and acts on them as one operation", async () => {
    const { tags, query } = uniqueTags();
    const mine = await operator.submit("probe.echo", { value: 1 }, { tags, delay_seconds: 600 });
    const theirs = await stranger.submit("probe.echo", { value: 2 }, { tags, delay_seconds: 600 });
    const listed = await until("both tasks in the list", async () => {
      const { tasks } = expectStatus(await admin.get(`/tasks?tenant=*&${query}`), 200).json<{
        tasks: { task_id: string; tenant_id: string }[];
      }>();
      return tasks.length === 2 ? tasks : undefined;
    });
    expect(listed.map(({ task_id, tenant_id }) => [task_id, tenant_id])).toEqual([
      [theirs.task_id, stranger.tenant],
      [mine.task_id, operator.tenant],
    ]);
    expectProblem(await operator.get("/tasks?tenant=*"), 403, "forbidden");
    const filter = { tags, created_after: mine.created_at };
    const counted = expectStatus(await admin.post("/tasks/cancel?tenant=*", { filter, dry_run: true }), 200);
    expect(counted.json()).toEqual({ matched: 2, by_tenant: { [operator.tenant]: 1, [stranger.tenant]: 1 } });
    const started = expectStatus(await admin.post("/tasks/cancel?tenant=*", { filter }), 202);
    const path = `/operations/${started.json<{ operation_id: string }>().operation_id}`;
    await until("the operation's end", async () =>
      (await admin.get(path)).json<{ status: string }>().status === "completed" ? true : undefined,
    );
    expect((await operator.task(mine.task_id)).status).toBe("cancelled");
    expect((await stranger.task(theirs.task_id)).status).toBe("cancelled");
    expectProblem(await operator.get(path), 404, "not_found");
    const { tenants } = expectStatus(await admin.get("/tenants"), 200).json<{ tenants: { tenant_id: string }[] }>();
    const own = tenants.find(({ tenant_id }) => tenant_id === operator.tenant);
    expect(own).toMatchObject({ open: expect.any(Number), dead_letters: expect.any(Number) });
  });

  test("changes limits of a tenant, two at the same time", async () => {
    const change = (json: object) => admin.send("PATCH", limitsPath, { body: json });
    const unset = { burst: "unset", tasks_in_progress: "unset", request_bytes: "unset" };
    expectStatus(await change(unset), 200);
    await Promise.all([change({ tasks_in_progress: 7 }), change({ request_bytes: null })]);
    const both = { limits: { tasks_in_progress: 7, request_bytes: null } };
    expect(expectStatus(await admin.get(limitsPath), 200).json()).toMatchObject(both);
    expect(expectStatus(await change(unset), 200).json()).toMatchObject({ limits: {} });
  });

  test("lists the tenants, page by page", async () => {
    await createKey("submitter", "initech");
    const tenants = await admin.all<{ tenant_id: string }>("/tenants?limit=2", "tenants");
    const ids = tenants.map(({ tenant_id }) => tenant_id);
    expect(ids).toContain("initech");
    expect(new Set(ids).size).toBe(ids.length);
  });

  // An emulated account does not make metrics of log lines.
  test.skipIf(deployed)("sees submitted tasks in the measurements, and the alarms", async () => {
    const since = Math.floor(Date.now() / 60_000) * 60;
    const many = [1, 2, 3].map((value) => operator.submit("probe.echo", { value }, { priority: "low" }));
    await Promise.all(many);
    await until("the tasks to be counted", async () => {
      const { series } = expectStatus(await admin.get("/metrics?hours=1"), 200).json<{ series: Series[] }>();
      const points = series.filter(({ name, tier }) => name === "submitted" && tier === "low")[0]?.points ?? [];
      const counted = points.filter(([at]) => at >= since).reduce((sum, [, value]) => sum + value, 0);
      return counted >= 3 ? true : undefined;
    });
    expect(expectStatus(await admin.get("/alarms"), 200).json<{ alarms: unknown[] }>().alarms).toBeInstanceOf(Array);
  });

  test("sees the deployments, as operators do, newest first", async () => {
    interface Deployment {
      deployed_at: string;
      version: string;
      rolled_back: boolean;
    }
    const read = async (client: Client) =>
      expectStatus(await client.get("/deployments"), 200).json<{ deployments: Deployment[] }>().deployments;
    // An emulated account tells nobody that a stack is complete.
    if (!deployed)
      await until("the start to be noted", async () => ((await read(admin)).length > 0 ? true : undefined));
    const deployments = await read(admin);
    expect(await read(operator)).toEqual(deployments);
    const times = deployments.map(({ deployed_at }) => deployed_at);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(deployments.filter(({ rolled_back }) => rolled_back)).toEqual([]);
    expectProblem(await submitter.get("/deployments"), 403, "forbidden");
    expectProblem(await anonymous.get("/deployments"), 401, "unauthenticated");
  });

  test.each(["/keys", "/tenants", limitsPath, "/metrics", "/alarms"])("is the only one who reads %s", async (path) => {
    for (const client of [operator, submitter]) expectProblem(await client.get(path), 403, "forbidden");
    expectProblem(await anonymous.get(path), 401, "unauthenticated");
  });
});
