import { endedOf, noCounts } from "../model/counts.ts";
import { placesOf } from "../model/family-node.ts";
import { inLanes } from "../model/in-lanes.ts";
import type { TaskKey, TaskRecord } from "../model/record.ts";
import { spawnedId } from "../model/spawned-id.ts";
import type { Blobs } from "../ports/blob.ts";
import type { Families } from "../ports/family.ts";
import type { Records } from "../ports/tasks.ts";
import { textOf } from "../send/read-whole.ts";
import type { ChildResult, Children } from "../task/children.ts";

export interface FamilyReadPorts {
  records: Records;
  families: Families;
  /** Holds the children's large results. */
  blobs: Blobs;
}

/** Results beside their records that are read at the same time. */
const lanes = 25;

/** The ended children of a parent, for the attempt that aggregates. */
export function endedChildren(ports: FamilyReadPorts, parent: TaskRecord): Children {
  const counts = parent.family_counts ?? noCounts;
  return { total: endedOf(counts), ...counts, results: () => resultsOf(ports, parent) };
}

/** A family without children. */
export const noChildren: Children = { total: 0, ...noCounts, async *results() {} };

async function* resultsOf(ports: FamilyReadPorts, parent: TaskRecord): AsyncGenerator<ChildResult> {
  for await (const leaf of leavesBelow(ports, parent, parent.family_root ?? "")) {
    const members = await membersOf(ports, parent, leaf);
    const records = await recordsOf(ports, parent, members);
    yield* await inLanes(members.entries(), lanes, ([index, member]) => resultOf(ports, member, records[index]));
  }
}

/** The leaves below a node, in the order of their spawn. */
async function* leavesBelow(ports: FamilyReadPorts, parent: TaskKey, name: string): AsyncGenerator<string> {
  const node = await ports.families.read(parent, name);
  if (node?.below === undefined) yield name;
  else for (const below of node.below) yield* leavesBelow(ports, parent, below);
}

/** A child's key, and its id. */
interface Member {
  key: string;
  taskId: string;
}

async function membersOf(ports: FamilyReadPorts, parent: TaskRecord, leaf: string): Promise<Member[]> {
  const [node, members] = await Promise.all([ports.families.read(parent, leaf), pageMembers(ports, parent, leaf)]);
  return placesOf(node ?? {}).flatMap((place) => members?.[place] ?? []);
}

/** All children of a leaf's page, also those that an attempt had not created when it died. */
export async function pageMembers(
  ports: Pick<FamilyReadPorts, "families">,
  parent: TaskRecord,
  leaf: string,
): Promise<Member[] | undefined> {
  const page = await ports.families.loadPage(parent, leaf);
  return page?.keys.map((own, place) => {
    const key = own ?? String(page.first + place);
    return { key, taskId: spawnedId(parent, key) };
  });
}

const recordsOf = ({ records }: FamilyReadPorts, { tenant_id }: TaskKey, members: readonly Member[]) =>
  records.getMany(members.map(({ taskId }) => ({ tenant_id, task_id: taskId })));

async function resultOf(
  ports: FamilyReadPorts,
  { key, taskId }: Member,
  record: TaskRecord | undefined,
): Promise<ChildResult> {
  const ended = ["completed", "failed", "cancelled", "expired"].find((status) => status === record?.status);
  return {
    taskId,
    key,
    // A child that is no longer kept, or that was replayed by itself, has ended for this family.
    status: (ended ?? "expired") as ChildResult["status"],
    result: record?.status === "completed" ? await jsonOf(ports, record) : undefined,
    error: record?.error,
    errorKind: record?.error_kind,
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
 * Begins the names of a family's nodes: a later task under the same idempotency key has the same id, and must not find the ends of this one's
 * children.
 */
const lifeOf = ({ created_at }: Pick<TaskRecord, "created_at">): string => Date.parse(created_at).toString(36);

/** Name of the leaf of an attempt's page. */
export const leafOf = (parent: TaskRecord, attempt: number, page: number): string =>
  `${lifeOf(parent)}.${attempt}.${page}`;

/** Begins the names of the nodes above the leaves that an attempt seals. */
export const treeOf = (parent: TaskRecord): string => `${lifeOf(parent)}.t${parent.attempts_total}`;

/** True for a leaf of this attempt's pages. */
export const isLeafOf = (leaf: string, parent: TaskRecord): boolean =>
  leaf.startsWith(`${lifeOf(parent)}.${parent.attempts_total}.`);

/** True for a child of this task, and not of an earlier one with the same id. */
export const isChildOf = ({ family_leaf: leaf = "" }: TaskRecord, parent: TaskRecord): boolean =>
  leaf.startsWith(`${lifeOf(parent)}.`);

/** Every leaf of every attempt that spawned, in the order of the spawns, with the children that belong to it. */
export async function* pagesOf(
  ports: FamilyReadPorts,
  parent: TaskRecord,
  from = { attempt: 1, page: 0 },
): AsyncGenerator<{ attempt: number; page: number; children: TaskRecord[] }> {
  for (let attempt = from.attempt; attempt <= parent.attempts_total; attempt++) {
    for (let page = attempt === from.attempt ? from.page : 0; ; page++) {
      const leaf = leafOf(parent, attempt, page);
      const members = await pageMembers(ports, parent, leaf);
      if (members === undefined) break;
      const found = await recordsOf(ports, parent, members);
      // A child that another attempt created first is in that attempt's leaf.
      const children = found.filter((child) => child !== undefined).filter((child) => child.family_leaf === leaf);
      yield { attempt, page, children };
    }
  }
}
