import { apiRoutes } from "../../src/api/http/routes.ts";
import { Dice } from "../simulation/dice.ts";
import { Requests } from "./requests.ts";
import { fuzzWorld, type Sent, viewerOf } from "./world.ts";

/** Requests to one deployment. A larger one has more to list, and is slower. */
const requestsOfWorld = 1_000;

/** The probability that workers work after a request. */
const workChance = 0.15;

/** The answers and the faults of a run. */
export interface Seen {
  requests: number;
  /** Numbers of answers, by status. */
  statuses: Map<number, number>;
  /** Names of the operations that succeeded at least once. */
  succeeded: Set<string>;
  /** Faults, each with the request. */
  faults: { seed: number; request: Sent; fault: string }[];
}

/**
 * Sends requests made from the OpenAPI document to deployments in memory, by two tenants with all roles, and by nobody.
 * The same seed makes the same requests, but for what follows from the pace of real work, such as encryption.
 * @param mostFaults The run ends after so many faults.
 */
export async function fuzz(requests: number, seed: number, mostFaults = 1): Promise<Seen> {
  const seen: Seen = { requests: 0, statuses: new Map(), succeeded: new Set(), faults: [] };
  for (let world = 0; seen.requests < requests && seen.faults.length < mostFaults; world++) {
    await attack(Math.min(requestsOfWorld, requests - seen.requests), seed + world, mostFaults, seen);
  }
  return seen;
}

/** Attacks one deployment. */
async function attack(requests: number, seed: number, mostFaults: number, seen: Seen): Promise<void> {
  const world = fuzzWorld();
  const dice = new Dice(seed);
  const made = new Requests(dice);
  await world.listen();
  for (let count = 1; count <= requests && seen.faults.length < mostFaults; count++) {
    const route = dice.pick(routes);
    const request = made.next(route);
    const fault = await attackOnce(world, made, request, seen, route.name).catch(told);
    const later = dice.chance(workChance) ? await world.live().catch(told) : undefined;
    const faults = [fault, later, ...world.heard.splice(0)].filter((one) => one !== undefined);
    seen.faults.push(...faults.map((one) => ({ seed, request, fault: one })));
    seen.requests += 1;
  }
}

const told = (error: Error): string => error.stack ?? String(error);

async function attackOnce(
  world: ReturnType<typeof fuzzWorld>,
  made: Requests,
  request: Sent,
  seen: Seen,
  name: string,
): Promise<string | undefined> {
  world.owners.sends(viewerOf(request), JSON.stringify(request));
  const answer = await world.send(request);
  seen.statuses.set(answer.status, (seen.statuses.get(answer.status) ?? 0) + 1);
  if (answer.status < 300) seen.succeeded.add(name);
  made.learn(request, answer);
  return world.faultOf(request, answer);
}

/** Operations that need a task or an operation in one of few states: most requests for them come too early or too late. */
const rare = ["runTaskNow", "retryTask", "rescheduleTask", "cancelOperation", "changeOperation", "replayTask"];

/** The list has each operation once, rare ones more often, and submits most often, as the others need tasks. */
const routes = [
  ...apiRoutes,
  ...Array.from({ length: 5 }, () => apiRoutes.filter(({ name }) => rare.includes(name))).flat(),
  ...apiRoutes.filter(({ name }) => ["submitTask", "submitBatch", "createSchedule", "createReceiver"].includes(name)),
  ...Array.from({ length: 8 }, () => apiRoutes.filter(({ name }) => name === "submitTask")).flat(),
] as [(typeof apiRoutes)[number], ...typeof apiRoutes];
