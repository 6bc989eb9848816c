import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, expectProblem, expectStatus } from "../support/http-client.ts";
import { type Answering, isSigned, Receiver } from "../support/receiver.ts";
import { takeKey } from "../support/taken-key.ts";
import { operator, stranger, submitter } from "./callers.ts";

/** A webhook's tries are waited for this long: on an emulated account each takes a start of the function. */
const timeoutMs = 240_000;

let receiver: Receiver;
beforeAll(async () => {
  receiver = await Receiver.start();
});
afterAll(() => receiver.close());

const submitted = async (
  answering: Answering,
  { client = operator, type = "probe.echo", input = { value: 5 } as unknown, include_result = false, ...more } = {},
) => {
  const url = receiver.url(answering);
  const body = { type, input, callback: { url, include_result }, ...more };
  const { task_id } = expectStatus(await client.post("/tasks", body), 202).json() as { task_id: string };
  return { url, task_id };
};

const secretOf = async (client: Client): Promise<string> =>
  (expectStatus(await client.get("/webhooks/secret"), 200).json() as { secret: string }).secret;

describe("a webhook", { timeout: timeoutMs * 2 }, () => {
  test("is tried again with the same id after two failures, and is signed", async () => {
    const { url, task_id } = await submitted((_, number) => (number < 3 ? 500 : 204), { include_result: true });
    const tries = await receiver.got(url, 3, timeoutMs);
    const secret = await secretOf(operator);
    expect(tries.map((one) => isSigned(one, secret))).toEqual([true, true, true]);
    const foreign = await secretOf(stranger);
    expect(tries.map((one) => isSigned(one, foreign))).toEqual([false, false, false]);
    expect(new Set(tries.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(new Set(tries.map(({ body }) => body)).size).toBe(1);
    expect(tries[0]?.json).toMatchObject({
      type: "task.completed",
      data: { task_id, status: "completed", result: { value: 5 } },
    });
    const ages = tries.map(({ atMs, headers }) => Math.abs(atMs / 1000 - Number(headers["webhook-timestamp"])));
    expect(Math.max(...ages)).toBeLessThan(300);
    await expect
      .poll(async () => (await operator.get(`/tasks/${task_id}/deliveries`)).json(), { timeout: timeoutMs })
      .toMatchObject({
        state: "delivered",
        next_try_at: null,
        deliveries: [
          { number: 1, status: 500, error: null },
          { number: 2, status: 500, error: null },
          { number: 3, status: 204, error: null },
        ],
      });
  });

  test("tells each kind of end, once", async () => {
    const failed = await submitted(() => 200, {
      type: "probe.fail",
      input: { kind: "permanent", times: null, message: "no", retry_after_seconds: 0 },
      include_result: true,
    });
    const cancelled = await submitted(() => 200, { delay_seconds: 3600 } as never);
    expectStatus(await operator.post(`/tasks/${cancelled.task_id}/cancel`, {}), 200);
    const taken = await takeKey(operator);
    const late = { type: "probe.keyed", input: taken.input, expires_in_seconds: 1 };
    const expired = await submitted(() => 200, late as never);
    for (const [{ url, task_id }, type] of [
      [failed, "task.failed"],
      [cancelled, "task.cancelled"],
      [expired, "task.expired"],
    ] as const) {
      const [first] = await receiver.got(url, 1, timeoutMs);
      expect(first?.json).toMatchObject({ type, data: { task_id, status: type.slice(5), result: null } });
    }
    expect(receiver.at(failed.url)).toHaveLength(1);
    await taken.free();
  });

  test("of a submitter leaves out the result unless it is asked for", async () => {
    const { url } = await submitted(() => 200, { client: submitter });
    const [first] = await receiver.got(url, 1, timeoutMs);
    expect(first?.json.data.result).toBeNull();
  });

  test("is given up at 410, listed, and delivered again with the same id", async () => {
    let status = 410;
    const { url, task_id } = await submitted(() => status);
    const [first] = await receiver.got(url, 1, timeoutMs);
    const failed = async () => (await operator.get("/deliveries?status=failed&limit=100")).json();
    const listed = {
      deliveries: expect.arrayContaining([expect.objectContaining({ task_id, url, last_status: 410 })]),
    };
    await expect.poll(failed, { timeout: timeoutMs }).toMatchObject(listed);
    expect(JSON.stringify((await stranger.get("/deliveries?status=failed&limit=100")).json())).not.toContain(task_id);
    status = 200;
    expectStatus(await operator.post(`/tasks/${task_id}/deliveries/redeliver`, {}), 202);
    const tries = await receiver.got(url, 2, timeoutMs);
    expect(tries[1]?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    expect(tries[1]?.body).toBe(first?.body);
    await expect.poll(async () => JSON.stringify(await failed()), { timeout: timeoutMs }).not.toContain(task_id);
  });
});

describe("refusals", () => {
  test.each([
    "http://example.com/hook",
    "https://169.254.169.254/latest/meta-data",
    "https://localhost/hook",
    "https://[::1]/hook",
    "https://0x7f000001/hook",
    "https://user:pass@example.com/hook",
    "ftp://example.com",
    "nonsense",
  ])("a callback to %s is refused at submit", async (url) => {
    const body = { type: "probe.echo", input: { value: 1 }, callback: { url } };
    const problem = expectProblem(await operator.post("/tasks", body), 422, "invalid_input");
    expect(problem.errors).toMatchObject([{ path: "/callback/url" }]);
  });

  test("deliveries of another tenant's task are not found, and submitters see no lists and secrets", async () => {
    const { task_id } = await submitted(() => 200);
    expectProblem(await stranger.get(`/tasks/${task_id}/deliveries`), 404, "not_found");
    expectProblem(await stranger.post(`/tasks/${task_id}/deliveries/redeliver`, {}), 404, "not_found");
    expectProblem(await submitter.get("/deliveries?status=failed"), 403, "forbidden");
    expectProblem(await submitter.get("/webhooks/secret"), 403, "forbidden");
    expectProblem(await operator.get("/deliveries?status=pending"), 422, "invalid_input");
  });

  test("a task without a callback has no delivery to send again", async () => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 });
    await operator.ended(task_id);
    expect(expectStatus(await operator.get(`/tasks/${task_id}/deliveries`), 200).json()).toEqual({
      state: null,
      next_try_at: null,
      deliveries: [],
    });
    expectProblem(await operator.post(`/tasks/${task_id}/deliveries/redeliver`, {}), 409, "conflict");
  });
});

describe("a receiver of a tenant", { timeout: timeoutMs * 2 }, () => {
  test("is told of the ends that it asks for, and gets again what was given up", async ({ onTestFinished }) => {
    let mended = false;
    const url = receiver.url(() => (mended ? 204 : 410));
    const asks = { url, events: ["task.completed"], types: ["probe.echo"], description: "the shop" };
    const made = expectStatus(await operator.post("/webhooks", asks), 201).json<{
      webhook_id: string;
      secret: string;
    }>();
    const path = `/webhooks/${made.webhook_id}`;
    onTestFinished(async () => void (await operator.send("DELETE", path)));
    const { task_id } = await operator.submit("probe.echo", { value: 7 });
    const mine = (one: { json: { data: Record<string, unknown> } }) => one.json.data.task_id === task_id;
    await expect.poll(() => receiver.at(new URL(url).pathname).filter(mine).length, { timeout: timeoutMs }).toBe(1);
    const first = receiver.at(new URL(url).pathname).find(mine);
    expect(first?.json).toMatchObject({ type: "task.completed", data: { status: "completed", result: null } });
    expect(first && isSigned(first, made.secret)).toBe(true);
    expect(first && isSigned(first, await secretOf(operator))).toBe(false);
    // The other tests of this tenant end tasks of the type as well.
    const delivery = async (cursor?: string): Promise<object | undefined> => {
      const query = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const page = (await operator.get(`${path}/deliveries?limit=100${query}`)).json<{
        deliveries: { task_id: string }[];
        next_cursor: string | null;
      }>();
      const found = page.deliveries.find((one) => one.task_id === task_id);
      return found ?? (page.next_cursor === null ? undefined : delivery(page.next_cursor));
    };
    const tried = { timeout: timeoutMs };
    await expect
      .poll(() => delivery(), tried)
      .toMatchObject({ status: "failed", event: "task.completed", body: first?.body });
    expect((await operator.get(path)).json()).toMatchObject({ health: "failing", failing_since: expect.any(String) });
    mended = true;
    const replay = expectStatus(await operator.post(`${path}/replay`, { status: "failed" }), 202);
    expect(replay.json<{ matched: number }>().matched).toBeGreaterThanOrEqual(1);
    await expect
      .poll(() => delivery(), tried)
      .toMatchObject({ status: "delivered", tries: [{ status: 410 }, { status: 204 }] });
    await expect.poll(async () => (await operator.get(path)).json(), tried).toMatchObject({ health: "healthy" });
    expectProblem(await stranger.get(path), 404, "not_found");
    expectProblem(await submitter.get("/webhooks"), 403, "forbidden");
  });
});
