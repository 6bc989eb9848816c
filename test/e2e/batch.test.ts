import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createClient } from "../../src/client/index.ts";
import type echo from "../../tasks/probe.echo.ts";
import { operator, requestTimeoutMs } from "./callers.ts";
import { deployed } from "./command-line.ts";

const url = process.env.OFFLOAD_URL ?? "";
const client = createClient<{ echo: typeof echo }>({ url, key: operator.token, requestTimeoutMs });

interface Answer {
  accepted: number;
  refused: number;
  tasks: { task_id?: string; replayed?: boolean; problem?: { code: string; status: number } }[];
}

async function post(tasks: unknown, headers: Record<string, string> = {}): Promise<{ status: number; json: Answer }> {
  const all = { authorization: `Bearer ${operator.token}`, "content-type": "application/json", ...headers };
  const answer = await fetch(`${url}/tasks/batch`, { method: "POST", headers: all, body: JSON.stringify({ tasks }) });
  return { status: answer.status, json: (await answer.json()) as Answer };
}

const echoOf = (value: unknown) => ({ type: "probe.echo", input: { value } });

/** An emulated account works on a few tasks a second, and all suites share it. */
const many = deployed ? 100 : 1_000;

describe.concurrent("many tasks in one request", () => {
  test(`${many} tasks of submitMany are all completed, each with its own result`, async () => {
    const inputs = Array.from({ length: many }, (_, value) => ({ value }));
    const ids: string[] = [];
    for await (const { task, error } of client.submitMany("probe.echo", inputs)) {
      if (error !== undefined) throw error;
      ids.push(task.task_id);
    }
    expect(new Set(ids).size).toBe(many);
    const pending = ids.entries();
    const reader = async () => {
      for (const [value, id] of pending) {
        expect(await client.result(id, { pollMs: 500, timeoutMs: 240_000 })).toEqual({ value });
      }
    };
    await Promise.all(Array.from({ length: 20 }, reader));
  });

  test("a bad entry is refused, and the others are done", async () => {
    const { status, json } = await post([echoOf(1), { type: "probe.none", input: {} }, { input: {} }, echoOf(2)]);
    expect(status).toBe(202);
    expect(json).toMatchObject({ accepted: 2, refused: 2 });
    expect(json.tasks.map(({ problem }) => problem?.code)).toEqual([
      undefined,
      "unknown_task_type",
      "invalid_input",
      undefined,
    ]);
    expect(await client.result(json.tasks[3]?.task_id ?? "", { pollMs: 200 })).toEqual({ value: 2 });
  });

  test("a repeated batch makes no second task", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const tasks = [1, 2, 3].map(echoOf);
    const [first, again] = [await post(tasks, headers), await post(tasks, headers)];
    expect(again.json.tasks.map(({ task_id }) => task_id)).toEqual(first.json.tasks.map(({ task_id }) => task_id));
    expect(first.json.tasks.map(({ replayed }) => replayed)).toEqual([false, false, false]);
    expect(again.json.tasks.map(({ replayed }) => replayed)).toEqual([true, true, true]);
  });

  test("submitMany with the same key and inputs makes no second task", async () => {
    const options = { idempotencyKey: randomUUID() };
    const ids = async () => {
      const all: (string | undefined)[] = [];
      for await (const { task } of client.submitMany("probe.echo", [{ value: 1 }, { value: 2 }], options)) {
        all.push(task?.task_id);
      }
      return all;
    };
    const first = await ids();
    expect(new Set(first).size).toBe(2);
    expect(await ids()).toEqual(first);
  });
});
