import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { differences } from "./check.ts";
import type { ChaosClient } from "./client.ts";
import { failEvery } from "./fail-every.ts";
import { type Harms, Killer } from "./killer.ts";
import type { VictimServer } from "./server.ts";

/** The longest time between two kills of the server, in milliseconds: coordinators get on in it. */
const longestPauseMs = 6_000;

/** A token of the server's tenant. */
const token = "dev-acme";

const endings = ["completed", "failed", "cancelled", "expired"];

interface CoordinatorRound {
  number: number;
  /** Coordinators that are submitted before each kill. */
  coordinators: number;
  children: number;
  /** Kills of the server. */
  kills: number;
  random: () => number;
  server: VictimServer;
  client: ChaosClient;
  giveUpAt: number;
}

interface Coordinator {
  id: string;
  type: "chaos.steps" | "chaos.pages";
  /** Absent while it has not ended. */
  task?: Record<string, unknown>;
}

/**
 * Kills the server again and again under coordinators that sleep, wait, store states, fail and are retried, and checks
 * each of them and all of its children. The server must run, and does not run afterwards.
 */
export async function runCoordinators(round: CoordinatorRound): Promise<{ harms: Harms; violations: string[] }> {
  const { kills, coordinators, random, server } = round;
  const effects = join(server.stateDir, `effects-${round.number}`);
  const own: Coordinator[] = [];
  const killer = new Killer(server, random);
  for (let kill = 0; kill < kills; kill += 1) {
    for (let count = 0; count < coordinators; count += 1) own.push(await submitOne(round, own.length, effects));
    await sleep(random() * longestPauseMs);
    if (random() < 0.3) await killer.harmUntil(() => true, 1);
    await killer.endLeases();
    await lookAt(round, own);
  }
  while (own.some(({ task }) => task === undefined) && Date.now() < round.giveUpAt) {
    await sleep(1_000);
    await lookAt(round, own);
  }
  killer.thaw();
  const keys = keysIn(effects);
  const violations: string[] = [];
  for (const one of own) violations.push(...(await check(round, one, keys)));
  await server.stop();
  return { harms: killer.done, violations };
}

async function submitOne(
  { number: round, children, random, client }: CoordinatorRound,
  number: number,
  effects: string,
): Promise<Coordinator> {
  const type = number % 2 === 0 ? "chaos.steps" : "chaos.pages";
  const fail_at = random() < 0.3 ? 2 : null;
  const body = JSON.stringify({ type, input: { children, effects, fail_at } });
  const headers = { "idempotency-key": `coordinator-${round}-${number}` };
  const { task_id } = await client.insist(token, "/tasks", { method: "POST", headers, body });
  const id = String(task_id);
  // A signal may come before the wait.
  if (type === "chaos.steps") await client.insist(token, `/tasks/${id}/signals/go`, { method: "POST", body: "{}" });
  return { id, type };
}

/** Reads those that have not ended, and retries those that failed as planned. */
async function lookAt({ client }: CoordinatorRound, own: readonly Coordinator[]): Promise<void> {
  const open = own.filter(({ task }) => task === undefined);
  for (const one of open) {
    const task = await client.insist(token, `/tasks/${one.id}`);
    const isPlanned = task.status === "failed" && String(task.error).includes("as planned");
    if (isPlanned) await client.insist(token, `/tasks/${one.id}/retry`, { method: "POST" });
    else if (endings.includes(String(task.status))) one.task = task;
  }
}

/** The keys under which each child's effect was done, by its family and number. */
function keysIn(effects: string): Map<string, Set<string>> {
  const keys = new Map<string, Set<string>>();
  const lines = existsSync(effects) ? readFileSync(effects, "utf8").trim().split("\n") : [];
  for (const line of lines) {
    const [family, number, key = ""] = line.split(" ");
    const name = `${family} ${number}`;
    keys.set(name, (keys.get(name) ?? new Set()).add(key));
  }
  return keys;
}

/** Everything that is not exact about a coordinator and its children, in words. */
async function check(
  { client, children }: CoordinatorRound,
  { id, type, task }: Coordinator,
  keys: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<string[]> {
  if (task === undefined) return [`the coordinator ${id} has not ended`];
  const failed = Math.floor(children / failEvery);
  const completed = children - failed;
  const sum = (children * (children + 1)) / 2 - (failEvery * failed * (failed + 1)) / 2;
  const counts = { total: children, open: 0, completed, failed, cancelled: 0, expired: 0, sealed: true };
  const all = await client.readAll<{ task_id: string }>(token, `/tasks/${id}/children?limit=100`, "tasks");
  const unique = new Set(all.map(({ task_id }) => task_id));
  const wrong = (what: string, found: unknown, wanted: unknown) =>
    JSON.stringify(found) === JSON.stringify(wanted)
      ? []
      : [`${type} ${id}: ${what} is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`];
  const numbers = Array.from({ length: type === "chaos.steps" ? children + 1 : children }, (_, index) => index + 1);
  const effects = numbers.map((number) => keys.get(`${id} ${number}`)?.size ?? 0);
  return [
    ...wrong("its status", task.status, "completed"),
    ...wrong("its result", task.result, { total: children, completed, failed, sum }),
    ...wrong("its counts", task.children, counts),
    ...wrong("its number of children", [all.length, unique.size], [children, children]),
    ...wrong("its children's effects", effects, numbers.fill(1)),
    ...differences(
      `the list of ${id}`,
      [...unique],
      all.map(({ task_id }) => task_id),
    ),
  ];
}
