import type { Clock, Page } from "../ports/tasks.ts";
import type { TenantList } from "../schedules/ports.ts";

/*
 * Lists of all tenants, for admins. No index has the tasks of several tenants, so each tenant's own list is read. A
 * page of a merged list reads those of at most `groupSize` tenants: the tasks of the next group of tenants come after
 * all tasks of this one.
 */

/** Number of tenants whose lists are merged into one. */
const groupSize = 100;

/** Number of tenants that are read at the same time. */
const tenantsAtOnce = 10;

/** Items that a page reads in all, as a multiple of its limit, and the fewest of each tenant. */
const readPerItem = 10;
const fewestOfEach = 10;

/** No further tenant of a chained list is read after this time, in milliseconds: the request must be answered. */
const maxReadMs = 2_500;

export interface PageQuery {
  limit: number;
  /** `next` of the page before. */
  from: string | undefined;
}

/** Reads a page of one tenant's list. */
export type ReadOfTenant<T> = (tenantId: string, page: PageQuery) => Promise<Page<T>>;

/** A place in a list of all tenants. No tenant's id contains `|`. */
interface Position {
  /** The tenant that the list goes on with, or behind which it does. Empty: it is at its start. */
  tenantId: string;
  /** The place in the lists of the tenants. Undefined: their start. */
  key: string | undefined;
}

const positionText = (tenantId: string, key = ""): string => `${tenantId}|${key}`;

function positionOf(from = "|"): Position {
  const bar = from.indexOf("|");
  return { tenantId: from.slice(0, bar), key: from.slice(bar + 1) || undefined };
}

/** The place behind an item in a merged list, on the page that begins at `from`. */
export const placeBehind = (from: string | undefined, key: string): string =>
  positionText(positionOf(from).tenantId, key);

/**
 * One page of the lists of all tenants, merged: newest first, within a group of tenants. A page may be short: it ends
 * where the first of the tenants' pages does, as the rest of that tenant's list may have newer items than the others.
 * @param keyOf The key by which each tenant's list is sorted in descending order, and from which `read` goes on.
 */
export async function mergeTenants<T>(
  tenants: TenantList,
  { keyOf, read }: { keyOf: (item: T) => string; read: ReadOfTenant<T> },
  { limit, from }: PageQuery,
): Promise<Page<T>> {
  const { tenantId: behind, key } = positionOf(from);
  const group = await tenants.list({ limit: groupSize, from: behind || undefined });
  const share = Math.min(limit, Math.max(fewestOfEach, Math.ceil((limit * readPerItem) / group.items.length)));
  const pages = await ofEach(group.items, (tenantId) => read(tenantId, { limit: share, from: key }));
  const floor = pages
    .flatMap(({ next }) => next ?? [])
    .sort()
    .at(-1);
  const found = pages
    .flatMap(({ items }) => items)
    .filter((item) => floor === undefined || keyOf(item) >= floor)
    .sort((a, b) => (keyOf(a) < keyOf(b) ? 1 : -1));
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const stop = found.length > items.length && last !== undefined ? keyOf(last) : floor;
  if (stop !== undefined) return { items, next: placeBehind(from, stop) };
  return { items, next: group.next === undefined ? undefined : positionText(group.next) };
}

/** One page of the lists of all tenants, one tenant after the other in the order of their ids. A page may be short. */
export async function chainTenants<T>(
  { tenants, clock }: { tenants: TenantList; clock: Clock },
  read: ReadOfTenant<T>,
  { limit, from }: PageQuery,
): Promise<Page<T>> {
  const endMs = clock.now() + maxReadMs;
  const items: T[] = [];
  for await (const { tenantId, key } of placesFrom(tenants, positionOf(from))) {
    const page = await read(tenantId, { limit: limit - items.length, from: key });
    items.push(...page.items);
    if (page.next !== undefined) return { items, next: positionText(tenantId, page.next) };
    if (items.length >= limit || clock.now() >= endMs) return { items, next: positionText(tenantId) };
  }
  return { items, next: undefined };
}

async function* placesFrom(tenants: TenantList, start: Position): AsyncGenerator<Position, void, undefined> {
  if (start.key !== undefined) yield start;
  for await (const ids of groupsOf(tenants, start.tenantId || undefined)) {
    for (const tenantId of ids) yield { tenantId, key: undefined };
  }
}

/** All tenants in the order of their ids, a group at a time. */
export async function* groupsOf(tenants: TenantList, start?: string): AsyncGenerator<string[], void, undefined> {
  let from = start;
  do {
    const page = await tenants.list({ limit: groupSize, from });
    yield page.items;
    from = page.next;
  } while (from !== undefined);
}

/** Does work for each tenant, for some at the same time. Returns the results in the tenants' order. */
export async function ofEach<T>(tenantIds: readonly string[], work: (tenantId: string) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let start = 0; start < tenantIds.length; start += tenantsAtOnce) {
    results.push(...(await Promise.all(tenantIds.slice(start, start + tenantsAtOnce).map(work))));
  }
  return results;
}
