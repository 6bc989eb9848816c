import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, Client, expectProblem, expectStatus, until } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";
import { createKey, deployed, offload } from "./command-line.ts";

const limits = {
  tenants: {
    rated: { submits_per_second: 20 },
    rare: { submits_per_second: 0.01, burst: 3 },
    placed: { tasks_in_progress: 5 },
    small: { max_request_bytes: 1_000 },
  },
  depth: { low: 100, critical: 1_000 },
};
const names = ["rated", "rare", "placed", "small", "free", "flood", "set"];

describe.skipIf(deployed)("limits (a local server of the test's own)", () => {
  let server: OwnServer;
  beforeAll(async () => {
    server = await startOwnServer({
      OFFLOAD_LIMITS: JSON.stringify(limits),
      OFFLOAD_KEYS: names.map((name) => `key-${name}:${name}:operator`).join(","),
    });
  });
  afterAll(() => server?.stop());

  const of = (tenant: string) => new Client(server.url, { token: `key-${tenant}`, tenant, role: "operator" });
  const echo = (value: unknown) => ({ type: "probe.echo", input: { value } });

  test("a tenant limited to 20 submits a second gets all 200 in by obeying Retry-After, and never faster", async () => {
    const [rated, free] = [of("rated"), of("free")];
    /** Submits until it is accepted. The emulated table of a busy machine may answer too late, and a 503 may follow a write. */
    const persist = async (client: Client, value: number, refusals: string[]): Promise<void> => {
      const answer = await client.post("/tasks", echo(value), { "idempotency-key": `persist-${value}` });
      if (answer.status === 202) return;
      const { code } = expectProblem(answer, answer.status, answer.status === 503 ? "unavailable" : "rate_limited");
      const seconds = Number(answer.headers.get("retry-after"));
      expect([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).toContain(seconds);
      refusals.push(code);
      await sleep(seconds * 1000);
      return persist(client, value, refusals);
    };
    const othersRefusals: string[] = [];
    const others = (async () => {
      for (let count = 0; count < 25; count++) {
        await persist(free, count, othersRefusals);
        await sleep(100);
      }
    })();
    const startedAt = Date.now();
    await Promise.all(Array.from({ length: 200 }, (_, value) => persist(rated, value, [])));
    const tookMs = Date.now() - startedAt;
    await others;
    expect(othersRefusals).not.toContain("rate_limited");
    const tasks = await until("200 tasks", async () => {
      const found = await rated.list("type=probe.echo&limit=100");
      return found.length >= 200 ? found : undefined;
    });
    expect(tasks).toHaveLength(200);
    // A burst of 20, and 180 at 20 a second. A busy machine only takes longer; the table's clock may differ by a little.
    expect(tookMs).toBeGreaterThanOrEqual(8_500);
  });

  test("a tenant's burst is accepted, and the next submit has to wait for its turn", async () => {
    const rare = of("rare");
    for (let count = 0; count < 3; count++) expectStatus(await rare.post("/tasks", echo(count)), 202);
    const refused = await rare.post("/tasks", echo(3));
    expectProblem(refused, 429, "rate_limited");
    // A token takes 100 seconds; some may have passed since the burst.
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(10);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(100);
    expectStatus(await of("free").post("/tasks", echo(3)), 202);
  });

  test("a tenant may have five tasks in progress, and the next when one has ended", async () => {
    const placed = of("placed");
    const sleepers = [];
    for (let count = 0; count < 5; count++) sleepers.push(await placed.submit("probe.sleep", { ms: 60_000 }));
    const refused = await placed.post("/tasks", echo(1), { "idempotency-key": "later" });
    expectProblem(refused, 429, "quota_exceeded");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    const [first] = sleepers;
    await placed.post(`/tasks/${first?.task_id}/cancel`);
    await placed.ended(first?.task_id ?? "");
    const accepted = await until("a place", async () => {
      const answer = await placed.post("/tasks", echo(1), { "idempotency-key": "later" });
      return answer.status === 202 ? answer : undefined;
    });
    expect(accepted.headers.get("idempotent-replayed")).toBeNull();
    await placed.ended(String(accepted.json().task_id));
    for (const { task_id } of sleepers.slice(1)) await placed.post(`/tasks/${task_id}/cancel`);
  });

  test("a repeat with its Idempotency-Key is answered as before, although the tenant is at its limit", async () => {
    const placed = of("placed");
    const key = { "idempotency-key": "repeat" };
    const { task_id } = await until("a place", async () => {
      const answer = await placed.post("/tasks", { type: "probe.sleep", input: { ms: 60_000 } }, key);
      return answer.status === 202 ? answer.json<{ task_id: string }>() : undefined;
    });
    const more = [];
    for (;;) {
      const answer = await placed.post("/tasks", { type: "probe.sleep", input: { ms: 60_000 } });
      if (answer.status === 429) break;
      more.push(String(answer.json().task_id));
    }
    const again = await placed.post("/tasks", { type: "probe.sleep", input: { ms: 60_000 } }, key);
    expectStatus(again, 202);
    expect(again.json()).toMatchObject({ task_id });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    for (const id of [task_id, ...more]) await placed.post(`/tasks/${id}/cancel`);
  });

  test("a request may be as large as its tenant's limit", async () => {
    expectStatus(await of("small").post("/tasks", echo("x".repeat(800))), 202);
    expectProblem(await of("small").post("/tasks", echo("x".repeat(1_000))), 413, "too_large");
    expectStatus(await of("free").post("/tasks", echo("x".repeat(1_000))), 202);
  });

  test("a tier that holds 100 tasks refuses more until it has drained, while critical tasks go on", async () => {
    const [flood, free] = [of("flood"), of("free")];
    // They stay in the tier until they are cancelled, however slow the machine is.
    const body = { type: "probe.sleep", input: { ms: 600_000 }, priority: "low" };
    const answers: Answer[] = [];
    while (answers.every(({ status }) => status === 202)) {
      answers.push(...(await Promise.all(Array.from({ length: 20 }, () => flood.post("/tasks", body)))));
    }
    const accepted = answers.filter(({ status }) => status === 202);
    const refused = answers.filter(({ status }) => status !== 202);
    expect(accepted.length).toBeGreaterThanOrEqual(100);
    for (const answer of refused) {
      expectProblem(answer, 503, "queue_full");
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    }
    expectStatus(await free.post("/tasks", { ...echo(1), priority: "critical" }), 202);
    expectProblem(await free.post("/tasks", { ...echo(1), priority: "low" }), 503, "queue_full");
    const ids = accepted.map((answer) => String(answer.json().task_id));
    await Promise.all(ids.map((id) => flood.post(`/tasks/${id}/cancel`)));
    await until("an open tier", async () => {
      const answer = await free.post("/tasks", { ...echo(1), priority: "low" });
      if (answer.status === 202) return true;
      await sleep(1000 * Math.min(5, Number(answer.headers.get("retry-after"))));
    });
    for (const id of ids) expect(await flood.ended(id)).toMatchObject({ status: "cancelled" });
  });

  test("a limit that the command line sets takes effect, and can be unset", async () => {
    const limit = async (...args: string[]) => {
      const { code, out } = await offload(["limits", ...args, "--json"], server.url);
      return { code, json: out === "" ? undefined : JSON.parse(out) };
    };
    const set = of("set");
    expectStatus(await set.post("/tasks", echo("x".repeat(500))), 202);
    expect(await limit("set", "--tenant", "set", "--request-bytes", "300")).toMatchObject({ code: 0 });
    await until("the limit", async () => {
      const { status } = await set.post("/tasks", echo("x".repeat(500)));
      return status === 413 ? true : undefined;
    });
    const shown = await limit("show", "--tenant", "set");
    expect(shown.json).toEqual({ default: {}, depth: {}, tenant: { request_bytes: 300 } });
    expect((await limit("set", "--tenant", "set", "--request-bytes", "unset")).json.tenant).toEqual({});
    expect(await limit("set", "--request-bytes", "300")).toMatchObject({ code: 2 });
    expect(await limit("set", "--tenant", "set", "--burst", "0.5")).toMatchObject({ code: 2 });
    expect(await limit("set", "--depth", "urgent=5")).toMatchObject({ code: 2 });
  });
});

describe("limits of one tenant, set by the command line", () => {
  const set = (tenant: string, ...limits: string[]) => offload(["limits", "set", "--tenant", tenant, ...limits]);
  const tenant = `limited-${Date.now()}`;

  test("the limits take effect, and end when they are lifted", async () => {
    const { client } = await createKey(tenant, "operator");
    expect(await set(tenant, "--tasks-in-progress", "2", "--request-bytes", "500")).toMatchObject({ code: 0 });
    const large = { type: "probe.echo", input: { value: "x".repeat(500) } };
    await until("the limit", async () => ((await client.post("/tasks", large)).status === 413 ? true : undefined));
    // Other processes of a deployment learn of it within ten seconds.
    if (deployed) await sleep(10_000);

    const accepted: string[] = [];
    const later = { type: "probe.echo", input: { value: 1 }, delay_seconds: 600 };
    const refused = await until("a refusal", async () => {
      const answer = await client.post("/tasks", later);
      if (answer.status !== 202) return answer;
      accepted.push(String(answer.json().task_id));
      expect(accepted.length).toBeLessThanOrEqual(2);
    });
    expectProblem(refused, 429, "quota_exceeded");
    expectStatus(await client.post(`/tasks/${accepted[0]}/cancel`), 200);
    await until("a place", async () => ((await client.post("/tasks", later)).status === 202 ? true : undefined));

    expect(await set(tenant, "--tasks-in-progress", "none", "--request-bytes", "none")).toMatchObject({ code: 0 });
    await until("no limit", async () => ((await client.post("/tasks", large)).status === 202 ? true : undefined));
  });
});
