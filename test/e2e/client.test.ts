import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import {
  CallTimeout,
  createClient,
  ProblemError,
  TaskCancelled,
  TaskExpired,
  TaskFailed,
} from "../../src/client/index.ts";
import type invoiceGenerate from "../../tasks/invoice.generate.ts";
import type echo from "../../tasks/probe.echo.ts";
import type fail from "../../tasks/probe.fail.ts";
import type keyed from "../../tasks/probe.keyed.ts";
import type sleep from "../../tasks/probe.sleep.ts";
import { takeKey } from "../support/taken-key.ts";
import { admin, operator, requestTimeoutMs, stranger } from "./callers.ts";

interface Tasks {
  invoiceGenerate: typeof invoiceGenerate;
  echo: typeof echo;
  fail: typeof fail;
  keyed: typeof keyed;
  sleep: typeof sleep;
}

const url = process.env.OFFLOAD_URL ?? "";
const clientOf = (key: string) => createClient<Tasks>({ url, key, requestTimeoutMs });
const client = clientOf(operator.token);
const soon = { pollMs: 200, timeoutMs: 240_000 };

describe.concurrent("the client", () => {
  test("a task is submitted, and its result is waited for", async () => {
    const task = await client.submit("probe.echo", { value: { a: [1, null] } });
    expect(await client.result(task)).toEqual({ value: { a: [1, null] } });
    expect(await client.status(task)).toMatchObject({ status: "completed", type: "probe.echo" });
    expect(await client.attempts(task)).toMatchObject([{ round: 1, number: 1, outcome: "completed" }]);
  });

  test("a file arrives with its name and type", async () => {
    const order = JSON.parse(await readFile(new URL("../../examples/order.json", import.meta.url), "utf8"));
    const task = await client.submit("invoice.generate", order);
    const invoice = await client.result(task, soon);
    expect(invoice).toMatchObject({ type: "application/pdf", name: expect.stringMatching(/^invoice-.*\.pdf$/) });
    expect((await invoice.text()).slice(0, 5)).toBe("%PDF-");
  });

  test("progress shows each state until the end", async () => {
    const task = await client.submit("probe.sleep", { ms: 4_000, steps: 5 });
    const seen: [string, number | null][] = [];
    for await (const { status, progress } of client.progress(task, soon)) seen.push([status, progress]);
    expect(seen.at(-1)).toEqual(["completed", 100]);
    expect(seen.map(([status]) => status)).toContain("processing");
  });

  test("a failed, a cancelled and an expired task throw their own errors", async () => {
    const failing = await client.submit("probe.fail", { kind: "permanent", message: "no such account" });
    const failed = client.result(failing, soon);
    await expect(failed).rejects.toThrow(/failed after 1 attempt: .*no such account/);
    await expect(failed).rejects.toMatchObject({ kind: "permanent", attempts: 1, name: "TaskFailed" });
    await expect(failed).rejects.toBeInstanceOf(TaskFailed);
    await client.deadLetters.discard({ taskIds: [failing.task_id] });

    const cancelled = await client.submit("probe.echo", { value: 1 }, { delaySeconds: 600 });
    expect(await client.cancel(cancelled)).toMatchObject({ status: "cancelled" });
    await expect(client.result(cancelled, soon)).rejects.toBeInstanceOf(TaskCancelled);

    const taken = await takeKey(operator);
    const late = await client.submit("probe.keyed", taken.input, { expiresInSeconds: 1 });
    await expect(client.result(late, soon)).rejects.toBeInstanceOf(TaskExpired);
    await taken.free();
  });

  test("a wait ends with its signal, or with its time", async () => {
    const task = await client.submit("probe.echo", { value: 1 }, { delaySeconds: 600 });
    const controller = new AbortController();
    const waiting = client.result(task, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("the user left")), 300);
    await expect(waiting).rejects.toThrow("the user left");
    await expect(client.result(task, { timeoutMs: 300 })).rejects.toBeInstanceOf(CallTimeout);
    await client.cancel(task);
  });

  test("an idempotency key makes one task", async () => {
    const idempotencyKey = randomUUID();
    const [one, other] = await Promise.all(
      [1, 2].map(() => client.submit("probe.echo", { value: 1 }, { idempotencyKey })),
    );
    expect(one?.task_id).toBe(other?.task_id);
    await expect(client.submit("probe.echo", { value: 2 }, { idempotencyKey })).rejects.toMatchObject({
      code: "idempotency_key_reused",
      taskId: one?.task_id,
    });
  });

  test("a wrong key, another tenant's task and a wrong field are problems", async () => {
    const task = await client.submit("probe.echo", { value: 1 });
    const wrong = `wrong-${randomUUID()}`;
    const refused = await clientOf(wrong)
      .status(task)
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ProblemError);
    expect(refused).toMatchObject({ code: "unauthenticated", status: 401, correlationId: expect.stringMatching(/./) });
    expect(String((refused as Error).stack)).not.toContain(wrong);
    await expect(clientOf(stranger.token).status(task)).rejects.toMatchObject({ code: "not_found", status: 404 });
    const input = { ms: -1 };
    await expect(client.submit("probe.sleep", input)).rejects.toMatchObject({
      code: "invalid_input",
      errors: [{ path: "/input/ms", message: expect.stringMatching(/./) }],
    });
  });

  test("lists are read page by page", async () => {
    const tags = { client: randomUUID() };
    const tasks = await Promise.all([1, 2, 3].map((value) => client.submit("probe.echo", { value }, { tags })));
    const ids = new Set(tasks.map(({ task_id }) => task_id));
    const listed = new Set<string>();
    for await (const { task_id } of client.list({ tags })) listed.add(task_id);
    expect(listed).toEqual(ids);
    const page = await client.list({ tags }).page({ limit: 2 });
    expect(page.nextCursor).toEqual(expect.any(String));
  });

  test("a schedule is created, read, run and deleted", async () => {
    const name = `client-${randomUUID()}`;
    const task = { type: "probe.echo", input: { value: 7 } } as const;
    const schedule = await client.schedules.create({ name, everySeconds: 3600, enabled: false, task });
    expect(await client.schedules.get(schedule.schedule_id)).toEqual(schedule);
    expect(await client.schedules.change(schedule.schedule_id, { enabled: true })).toMatchObject({ enabled: true });
    expect(await client.schedules.next(schedule.schedule_id, { count: 2 })).toHaveLength(2);
    const run = await client.schedules.run(schedule.schedule_id);
    expect(await client.result(run, soon)).toEqual({ value: 7 });
    await client.schedules.delete(schedule.schedule_id);
    await expect(client.schedules.get(schedule.schedule_id)).rejects.toMatchObject({ code: "not_found" });
    expect(await client.schedules.preview({ cron: "0 2 * * *" }, { from: "2027-03-26T12:00:00Z", count: 1 })).toEqual([
      "2027-03-27T02:00:00.000Z",
    ]);
  });

  test("an admin reads the queues, and another tenant's tasks", async () => {
    expect(Object.keys(await clientOf(admin.token).queues())).toEqual(["critical", "high", "normal", "low"]);
    const task = await clientOf(stranger.token).submit("probe.echo", { value: 1 });
    const other = createClient({ url, key: async () => admin.token, tenant: stranger.tenant, requestTimeoutMs });
    expect(await other.status(task)).toMatchObject({ task_id: task.task_id });
  });
});
