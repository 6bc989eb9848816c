import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "./http-client.ts";

/** Submits a batch. Entries that the API refuses, because it is busy, are sent again. */
export async function submitAll(api: Client, tasks: readonly object[]): Promise<void> {
  let rest = tasks.map((task) => ({ ...task, idempotency_key: randomUUID() }));
  for (let tries = 0; rest.length > 0; tries++) {
    if (tries > 60) throw new Error(`${rest.length} tasks were refused again and again`);
    if (tries > 0) await sleep(1_000);
    const answer = await api.post("/tasks/batch", { tasks: rest });
    const outcomes = answer.json<{ tasks?: { problem?: object }[] }>().tasks;
    rest = rest.filter((_, index) => outcomes === undefined || outcomes[index]?.problem !== undefined);
  }
}
