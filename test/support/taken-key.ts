import { randomUUID } from "node:crypto";
import type { Client } from "./http-client.ts";

/** A key of `probe.keyed` whose three places are taken: a task with this input cannot start until they are free. */
export interface TakenKey {
  input: { key: string; ms: number };
  /** The tasks that have the places. */
  holders: readonly string[];
  /** Cancels them. */
  free(): Promise<void>;
}

/** Takes all places of a new key for ten minutes, and waits until they are: tasks do not start in the order of their submits. */
export const takeKey = async (client: Client): Promise<TakenKey> => {
  const input = { key: randomUUID(), ms: 600_000 };
  const accepted = await Promise.all([1, 2, 3].map(() => client.submit("probe.keyed", input)));
  const holders = accepted.map(({ task_id }) => task_id);
  await Promise.all(holders.map((id) => client.waitFor(id, ({ status }) => status === "processing")));
  const free = async () => {
    await Promise.all(holders.map((id) => client.post(`/tasks/${id}/cancel`)));
    await Promise.all(holders.map((id) => client.ended(id)));
  };
  return { input, holders, free };
};
