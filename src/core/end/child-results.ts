import { inLanes } from "../../util/in-lanes.ts";
import { endedOf, noCounts } from "../model/counts.ts";
import { endIn, type FamilyNode, placesOf, shownKey } from "../model/family-node.ts";
import { spawnedId } from "../model/idempotency.ts";
import type { TaskKey, TaskRecord } from "../model/record.ts";
import type { Blobs } from "../ports/blob.ts";
import type { Families, FamilyKey, FamilyPage, StoredPage } from "../ports/family.ts";
import type { Records } from "../ports/tasks.ts";
import { textOf } from "../send/read-whole.ts";
import type { ChildResult, Children } from "../task/children.ts";
import { eachForHandler, type ForHandler } from "../task/own-fault.ts";

export interface FamilyReadPorts {
  records: Records;
  families: Families;
  /** Holds the children's large results. */
  blobs: Blobs;
}

/** Results beside their records that are read at the same time. */
const lanes = 25;

/** The ended children of a parent, for the attempt that aggregates. */
export function endedChildren(ports: FamilyReadPorts, parent: TaskRecord, forHandler: ForHandler): Children {
  const counts = parent.family_counts ?? noCounts;
  return {
    total: endedOf(counts),
    ...counts,
    results: () => eachForHandler(resultsOf(ports, parent), forHandler),
  };
}

/** A family without children. */
export const noChildren: Children = { total: 0, ...noCounts, async *results() {} };

async function* resultsOf(ports: FamilyReadPorts, parent: TaskRecord): AsyncGenerator<ChildResult> {
  for await (const page of storedPages(ports, parent)) {
    const node = (await ports.families.read(parent, leafOf(parent, page.number))) ?? { ended: {} };
    const all = membersOf(parent, page);
    const members = placesOf(node).flatMap((place) => all[place] ?? []);
    const records = await recordsOf(ports, parent, members);
    yield* await inLanes(members.entries(), lanes, ([index, member]) => resultOf(ports, node, member, records[index]));
  }
}

/** A child's place and key, and its id. */
interface Member {
  place: number;
  key: string;
  taskId: string;
}

/** All children of a page, also those that an attempt had not created when it died. */
export const membersOf = (parent: TaskRecord, { first, keys }: FamilyPage): Member[] =>
  keys.map((own, place) => {
    const key = own ?? String(first + place);
    return { place, key, taskId: spawnedId(parent, key) };
  });

const recordsOf = ({ records }: FamilyReadPorts, { tenant_id }: TaskKey, members: readonly Member[]) =>
  records.getMany(members.map(({ taskId }) => ({ tenant_id, task_id: taskId })));

/**
 * The status is that which the family has counted: the child may have been replayed by itself since, or be no longer
 * kept.
 */
async function resultOf(
  ports: FamilyReadPorts,
  { ended }: FamilyNode,
  { key, place, taskId }: Member,
  record: TaskRecord | undefined,
): Promise<ChildResult> {
  const { status } = endIn(ended[place] ?? "");
  const isSame = record?.status === status;
  return {
    taskId,
    key: shownKey(key),
    status,
    result: record !== undefined && isSame && status === "completed" ? await jsonOf(ports, record) : undefined,
    error: isSame ? record.error : undefined,
    errorKind: isSame ? record.error_kind : undefined,
  };
}

async function jsonOf({ records, blobs }: FamilyReadPorts, record: TaskRecord): Promise<unknown> {
  const { result_ref: reference } = record;
  if (reference === undefined) return record.result ?? null;
  if (reference.file_name !== undefined || reference.content_type !== "application/json") return undefined;
  if (reference.blob !== undefined) return jsonInBucket(blobs, reference.blob);
  const text = await records.loadPart(record, `result#${reference.part}`);
  return typeof text === "string" ? JSON.parse(text) : undefined;
}

async function jsonInBucket(blobs: Blobs, key: string): Promise<unknown> {
  const content = await blobs.read(key);
  return content === undefined ? undefined : JSON.parse(await textOf(content.bytes));
}

/**
 * Begins the names of a family's nodes: a later task under the same idempotency key has the same id, and must not find
 * the ends of this one's children.
 */
const lifeOf = ({ created_at }: Pick<TaskRecord, "created_at">): string => Date.parse(created_at).toString(36);

/** Names a task's family. */
export const familyOf = ({ tenant_id, task_id, created_at }: TaskRecord): FamilyKey => ({
  tenant_id,
  task_id,
  life: lifeOf({ created_at }),
});

/** Name of the leaf of a page. */
export const leafOf = (parent: TaskRecord, page: number): string => `${lifeOf(parent)}.${page}`;

/** Begins the names of the nodes above the leaves that an attempt seals. */
export const treeOf = (parent: TaskRecord): string => `${lifeOf(parent)}.t${parent.attempts_total}`;

/** True for a child of this task, and not of an earlier one with the same id. */
export const isChildOf = ({ family_leaf: leaf = "" }: TaskRecord, parent: TaskRecord): boolean =>
  leaf.startsWith(`${lifeOf(parent)}.`);

/** Every page of a family, in the order of the spawns. */
export async function* storedPages(
  { families }: Pick<FamilyReadPorts, "families">,
  parent: TaskRecord,
  from = 0,
): AsyncGenerator<StoredPage> {
  for (let next = from; ; ) {
    const pages = await families.pages(familyOf(parent), next);
    yield* pages;
    const last = pages.at(-1);
    if (last === undefined) return;
    next = last.number + 1;
  }
}

/** Every page with the records of its children that are still kept. */
export async function* childPages(
  ports: FamilyReadPorts,
  parent: TaskRecord,
  from = 0,
): AsyncGenerator<{ page: number; children: TaskRecord[] }> {
  for await (const page of storedPages(ports, parent, from)) {
    const found = await recordsOf(ports, parent, membersOf(parent, page));
    const leaf = leafOf(parent, page.number);
    // Of two children with one key, the first one has the place.
    const children = found.flatMap((child, place) =>
      child?.family_leaf === leaf && child.family_place === place ? child : [],
    );
    yield { page: page.number, children };
  }
}
