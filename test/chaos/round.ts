import { setTimeout as sleep } from "node:timers/promises";
import { checkEnds, checkLists, type Ended } from "./check.ts";
import type { ChaosClient } from "./client.ts";
import { checkDeadLetterQueues, shownCounts } from "./dead-letter-queues.ts";
import { discardSome } from "./discard.ts";
import { Killer } from "./killer.ts";
import type { VictimServer } from "./server.ts";
import { type Planned, plan } from "./workload.ts";

/** Requests that are sent at the same time. */
const clientCount = 10;

/** Time after a stop in which workers must have ended, in milliseconds. */
const orphanLimitMs = 5_000;

export interface RoundOptions {
  number: number;
  tasks: number;
  kills: number;
  random: () => number;
  server: VictimServer;
  client: ChaosClient;
  /** The tasks of the earlier rounds with their ids; this round's are added. */
  ids: Map<Planned, string>;
  /** The tasks whose dead letters the earlier rounds discarded; this round's are added. */
  discarded: Set<Planned>;
  giveUpAt: number;
}

/**
 * One round: submits tasks while the server and its workers are harmed, waits in peace for their ends, reads everything,
 * discards some dead letters, and stops the server. The server must run, and does not run afterwards.
 */
export async function runRound(options: RoundOptions) {
  const { number, tasks, kills, random, server, client, ids, discarded } = options;
  const planned = plan(number, tasks, random);
  const killer = new Killer(server, random);
  let submitted = false;
  const killing = killer.harmUntil(() => submitted, kills);
  const own = await submitAll(options, planned);
  submitted = true;
  await killing;
  // In every fifth round the leases of dead workers end by themselves.
  if (number % 5 !== 0) await killer.endLeases();
  const violations = checkEnds(planned, own, await waitForEnds(options, own));
  killer.thaw();
  for (const [one, id] of own) ids.set(one, id);
  violations.push(...(await checkLists(client, ids, discarded)));
  violations.push(...(await discardSome(client, ids, discarded)));
  const shown = await shownCounts(client);
  await server.stop();
  violations.push(...(await checkOrphans(server)));
  const letters = new Map([...ids].filter(([one]) => one.ends === "failed" && !discarded.has(one)));
  violations.push(...checkDeadLetterQueues(server.stateDir, letters, shown));
  return { harms: killer.done, violations };
}

async function submitAll({ client, random }: RoundOptions, planned: readonly Planned[]): Promise<Map<Planned, string>> {
  const ids = new Map<Planned, string>();
  const waiting = [...planned];
  const submitSome = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const answer = await client.insist(next.caller.token, "/tasks", {
        method: "POST",
        headers: { "idempotency-key": next.key },
        body: JSON.stringify(next.body),
      });
      if (typeof answer.task_id !== "string") throw new Error(`a submit was refused: ${JSON.stringify(answer)}`);
      ids.set(next, answer.task_id);
      await sleep(random() * 1_000);
    }
  };
  await Promise.all(Array.from({ length: clientCount }, submitSome));
  return ids;
}

async function waitForEnds(
  { client, giveUpAt }: RoundOptions,
  ids: Map<Planned, string>,
): Promise<Map<Planned, Ended>> {
  const ended = new Map<Planned, Ended>();
  while (ended.size < ids.size && Date.now() < giveUpAt) {
    for (const [planned, id] of ids) {
      if (ended.has(planned)) continue;
      const { token } = planned.caller;
      const task = await client.insist(token, `/tasks/${id}`);
      if (!["completed", "failed", "cancelled", "expired"].includes(String(task.status))) continue;
      const { attempts } = (await client.insist(token, `/tasks/${id}/attempts`)) as { attempts: Ended["history"] };
      ended.set(planned, { task, history: attempts });
    }
    if (ended.size < ids.size) await sleep(1_000);
  }
  return ended;
}

async function checkOrphans(server: VictimServer): Promise<string[]> {
  const until = Date.now() + orphanLimitMs;
  while (server.orphans().length > 0 && Date.now() < until) await sleep(200);
  return server.orphans().map((pid) => `the worker ${pid} outlived its server`);
}
