import type { Clock } from "../ports/tasks.ts";
import type { SlowHosts } from "../ports/webhooks.ts";

/** A receiver that has not answered after this time is slow, in milliseconds. */
export const slowAfterMs = 1_000;

/** Time for which a host stays known as slow, in milliseconds. */
export const slowForMs = 60_000;

/**
 * Places for requests under way to one slow host, and to all slow hosts of a tenant. The places of a tenant are a third
 * of the 40 invocations that send webhooks at the same time, each of which waits for the slowest of its requests.
 */
const hostPlaces = 10;
const tenantPlaces = 13;

/** Name under which the places of a tenant are counted. It is slow when all of them were taken. No host has it. */
export const allHosts = "*";

/** Ports of places. */
export interface PlacePorts {
  clock: Clock;
  slowHosts: SlowHosts;
}

/** A host of a tenant. */
export interface Host {
  tenantId: string;
  host: string;
}

/**
 * Takes a place of a slow host, and one of its tenant, whose hosts may be many names of one receiver. Returns when, in
 * epoch milliseconds.
 */
export async function takePlaces(
  { slowHosts, clock }: PlacePorts,
  { tenantId, host }: Host,
): Promise<number | undefined> {
  const nowMs = clock.now();
  if (!(await slowHosts.takePlace(tenantId, host, nowMs, hostPlaces))) return undefined;
  if (await slowHosts.takePlace(tenantId, allHosts, nowMs, tenantPlaces)) return nowMs;
  await slowHosts.givePlace(tenantId, host, nowMs);
  await slowHosts.markSlow(tenantId, allHosts, nowMs + slowForMs);
  return undefined;
}

export async function givePlaces({ slowHosts }: PlacePorts, { tenantId, host }: Host, takenMs: number): Promise<void> {
  // The places of a process that dies come back with the next interval, and so do those that cannot be given back now.
  await Promise.allSettled([
    slowHosts.givePlace(tenantId, host, takenMs),
    slowHosts.givePlace(tenantId, allHosts, takenMs),
  ]);
}
