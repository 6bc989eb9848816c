import { setTimeout as sleep } from "node:timers/promises";
import { differences } from "./check.ts";
import type { ChaosClient } from "./client.ts";
import { type Harms, Killer } from "./killer.ts";
import type { VictimServer } from "./server.ts";
import { among, callers } from "./workload.ts";

/** Every such child fails permanently. */
const failEvery = 27;

/** Longest pause between two harms, in milliseconds. */
const longestPauseMs = 12_000;

interface FamilyRound {
  number: number;
  families: number;
  children: number;
  kills: number;
  random: () => number;
  server: VictimServer;
  client: ChaosClient;
  giveUpAt: number;
}

interface Family {
  token: string;
  id: string;
}

type Listed = { task_id: string; status: string };

/**
 * Submits families, harms the server and its workers meanwhile, and checks all of them. Some coordinators also end
 * their own worker. The server must run, and does not run afterwards.
 */
export async function runFamilies(round: FamilyRound): Promise<{ harms: Harms; violations: string[] }> {
  const { number: roundNumber, families, children, kills, random, server, client } = round;
  const own: Family[] = [];
  for (let number = 0; number < families; number += 1) {
    const { token } = among(callers, random);
    const dieAfter = random() < 0.3 ? Math.floor(random() * children) : null;
    const input = { children, fail_every: failEvery, threshold: 0.9, die_after: dieAfter };
    const body = JSON.stringify({ type: "probe.fanout", input, max_attempts: 20 });
    const headers = { "idempotency-key": `family-${roundNumber}-${number}` };
    const { task_id } = await client.insist(token, "/tasks", { method: "POST", headers, body });
    own.push({ token, id: String(task_id) });
  }
  const ended = new Map<Family, Record<string, unknown>>();
  const killer = new Killer(server, random);
  const harming = async () => {
    // With pauses: families of a server that is killed every second get nowhere.
    for (let count = 0; count < kills && ended.size < families; count += 1) {
      await sleep(random() * longestPauseMs);
      await killer.harmUntil(() => true, 1);
    }
  };
  await Promise.all([harming(), waitForEnds(round, own, ended)]);
  killer.thaw();
  const violations = (await Promise.all(own.map((one) => check(round, one, ended.get(one))))).flat();
  await server.stop();
  return { harms: killer.done, violations };
}

async function waitForEnds(
  { client, giveUpAt }: FamilyRound,
  own: readonly Family[],
  ended: Map<Family, Record<string, unknown>>,
): Promise<void> {
  while (ended.size < own.length && Date.now() < giveUpAt) {
    for (const one of own) {
      if (ended.has(one)) continue;
      const task = await client.insist(one.token, `/tasks/${one.id}`);
      if (["completed", "failed", "cancelled", "expired"].includes(String(task.status))) ended.set(one, task);
    }
    await sleep(1_000);
  }
}

/** Everything that is not exact about a family, in words. */
async function check(
  { client, children }: FamilyRound,
  { token, id }: Family,
  task: Record<string, unknown> | undefined,
): Promise<string[]> {
  if (task === undefined) return [`the family ${id} has not ended`];
  const failed = Math.floor(children / failEvery);
  const sum = (children * (children + 1)) / 2 - (failEvery * failed * (failed + 1)) / 2;
  const expected = { total: children, completed: children - failed, failed, sum };
  const counts = {
    total: children,
    open: 0,
    completed: children - failed,
    failed,
    cancelled: 0,
    expired: 0,
    sealed: true,
  };
  const list = (query: string) => client.readAll<Listed>(token, `/tasks/${id}/children?limit=100${query}`, "tasks");
  const [all, ofFailed] = [await list(""), await list("&status=failed")];
  const unique = new Set(all.map(({ task_id }) => task_id));
  const wrong = (what: string, found: unknown, wanted: unknown) =>
    JSON.stringify(found) === JSON.stringify(wanted)
      ? []
      : [`${id}: ${what} is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`];
  return [
    ...wrong("its status", task.status, "completed"),
    ...wrong("its result", task.result, expected),
    ...wrong("its counts", task.children, counts),
    ...wrong("its number of children", [all.length, unique.size, ofFailed.length], [children, children, failed]),
    ...differences(
      `the list of ${id}`,
      [...unique],
      all.map(({ task_id }) => task_id),
    ),
  ];
}
