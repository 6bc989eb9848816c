import { setTimeout as sleep } from "node:timers/promises";
import type { ChaosClient } from "../chaos/client.ts";

/** A token of the server's tenant. */
export const token = "dev-acme";

export type Kind = "collect" | "restart" | "strict";

/** A key, with the submits that it gets. */
export interface Key {
  name: string;
  kind: Kind;
  count: number;
  /** Callers that submit beside each other. */
  lanes: number;
}

/** A submit that was answered. */
export interface Accepted {
  number: number;
  task: string;
  /** Place of the input in its list, from 1. */
  collected?: number;
  /** Moments in one order of all: the submit was first sent, and it was answered. */
  sentAt: number;
  answeredAt: number;
}

export interface Load {
  client: ChaosClient;
  random: () => number;
  /** File for the handlers' notes. */
  notes: string;
  /** Called after each submit that was answered. */
  onAccepted: () => void;
}

/** Keys of all kinds, of each kind half with one caller, and half with three. */
export function keysOf(submits: number, keys: number): Key[] {
  return Array.from({ length: keys }, (_, index) => {
    const kind = (["collect", "restart", "collect", "restart", "strict"] as const)[index % 5] ?? "collect";
    const share = kind === "strict" ? 0.5 : 1.125;
    const lanes = kind === "strict" || index % 2 === 0 ? 1 : 3;
    return { name: `${kind}-${index}`, kind, lanes, count: Math.max(2, Math.round((submits / keys) * share)) };
  });
}

/** Makes the moments of one order. */
export function moments(): () => number {
  let last = 0;
  return () => ++last;
}

/** Sends all submits of a key, the last one when all others have been answered. */
export async function submitAll(load: Load, key: Key, moment: () => number): Promise<Accepted[]> {
  const accepted: Accepted[] = [];
  let next = 0;
  const lane = async () => {
    while (next < key.count - 1) accepted.push(await submitOne(load, key, next++, moment));
  };
  await Promise.all(Array.from({ length: key.lanes }, lane));
  accepted.push(await submitOne(load, key, next, moment));
  return accepted;
}

async function submitOne(load: Load, key: Key, number: number, moment: () => number): Promise<Accepted> {
  const { client, notes, random, onAccepted } = load;
  const { kind, name } = key;
  const ms = Math.floor(random() * (random() < 0.3 ? 800 : 60));
  const fails = kind === "strict" ? failureOf(number) : {};
  const body = JSON.stringify({
    type: `kills.${kind}`,
    input: { key: name, number, notes, ms, ...fails },
    ...(kind !== "strict" && { unique: { key: name, mode: kind } }),
  });
  const sentAt = moment();
  const headers = { "idempotency-key": `${name}-${number}` };
  const answer = await client.insist(token, "/tasks", { method: "POST", headers, body });
  const answeredAt = moment();
  if (typeof answer.task_id !== "string") throw new Error(`a submit was refused: ${JSON.stringify(answer)}`);
  onAccepted();
  if (kind === "strict") await placed(client, answer.task_id);
  const place = typeof answer.collected === "number" && { collected: answer.collected };
  return { number, task: answer.task_id, ...place, sentAt, answeredAt };
}

/** Every seventh task fails once, every 25th one for good. */
export const failureOf = (number: number): { fails?: "once" | "for good" } => {
  if (number % 25 === 24) return { fails: "for good" };
  return number % 7 === 3 ? { fails: "once" } : {};
};

/** Waits until a task has its place in the strict order: from then on nothing passes it. */
async function placed(client: ChaosClient, id: string): Promise<void> {
  for (;;) {
    const task = await client.insist(token, `/tasks/${id}`);
    const { waiting_for } = task as { waiting_for?: { kind: string } | null };
    if (task.status !== "pending" || Number(task.attempts) > 0 || waiting_for?.kind === "concurrency") return;
    await sleep(150);
  }
}
