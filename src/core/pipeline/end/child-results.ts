import { inLanes } from "../../../util/in-lanes.ts";
import type { Envelope } from "../../model/envelope.ts";
import { PermanentError, PortUnavailable } from "../../model/errors.ts";
import { endedOf, endIn, type FamilyNode, noCounts, placesOf, shownKey } from "../../model/family-node.ts";
import { spawnedId } from "../../model/idempotency.ts";
import type { ResultReference, TaskKey, TaskRecord } from "../../model/record.ts";
import type { Blobs } from "../../ports/blob.ts";
import type { Families, FamilyKey, FamilyPage, StoredPage } from "../../ports/family.ts";
import type { Records } from "../../ports/tasks.ts";
import { eachForHandler, type ForHandler } from "../../task/own-fault.ts";
import { inputVersionOf, parseInput } from "../../task/parsed-input.ts";
import type { ChildFile, ChildResult, Children } from "../../task/result.ts";
import type { TaskType } from "../../task/task.ts";
import { streamOf } from "../../task/task-file.ts";
import { textOf } from "../send/read-whole.ts";

export interface FamilyReadPorts {
  records: Records;
  families: Families;
  /** Holds the children's large results. */
  blobs: Blobs;
}

/** Results beside their records that are read at the same time. */
const lanes = 25;

/** A parent's input, or the error that its reader gets; and `both`, the input as it was submitted and as it is read. */
type ParentInput = ({ data: unknown } | { fault: unknown }) & { both?: unknown };

/** The ended children of a parent, for the attempt that aggregates. */
export function endedChildren(
  ports: FamilyReadPorts,
  parent: TaskRecord,
  forHandler: ForHandler,
  input: ParentInput = { data: undefined },
): Children {
  const counts = parent.family_counts ?? noCounts;
  return {
    total: endedOf(counts),
    ...counts,
    get input() {
      return givenIn(input);
    },
    results: () => eachForHandler(resultsOf(ports, parent, forHandler), forHandler),
  };
}

/** A family without children. */
export const noChildren = (input: unknown): Children => ({ total: 0, ...noCounts, input, async *results() {} });

function givenIn(input: ParentInput): unknown {
  if ("fault" in input) throw input.fault;
  return input.data;
}

/** A parent that aggregates, and its input as it was submitted and as it is read. */
export interface Parent {
  both: unknown;
  children(forHandler: ForHandler): Children;
}

/** @throws PortUnavailable */
export async function parentOf(
  ports: FamilyReadPorts,
  type: TaskType,
  record: TaskRecord,
  envelope: Envelope,
): Promise<Parent> {
  const input = await parentInput(ports, type, record, envelope);
  return { both: input.both, children: (forHandler) => endedChildren(ports, record, forHandler, input) };
}

/**
 * The input of a parent that aggregates. A fault of the input is for the code that reads it: aggregating may not need
 * it.
 * @throws PortUnavailable
 */
async function parentInput(
  ports: Pick<FamilyReadPorts, "blobs">,
  type: TaskType,
  record: TaskRecord,
  envelope: Envelope,
): Promise<ParentInput> {
  let submitted: unknown;
  try {
    submitted = envelope.input;
    if (envelope.input_ref !== undefined) {
      // The function status starts with this file.
      submitted = await (await import("../send/large-input.ts")).storedInput(ports, envelope);
    }
    const parsed = parseInput(type, submitted, inputVersionOf(envelope, record), envelope.collected);
    const read = parsed instanceof Promise ? await parsed : parsed;
    return { ...read, both: [submitted, "data" in read && read.data] };
  } catch (error) {
    if (error instanceof PortUnavailable) throw error;
    return { fault: error, both: submitted };
  }
}

async function* resultsOf(
  ports: FamilyReadPorts,
  parent: TaskRecord,
  forHandler: ForHandler,
): AsyncGenerator<ChildResult> {
  for await (const page of storedPages(ports, parent)) {
    const node = (await ports.families.read(parent, leafOf(parent, page.number))) ?? { ended: {} };
    const all = membersOf(parent, page);
    const members = placesOf(node).flatMap((place) => all[place] ?? []);
    const records = await recordsOf(ports, parent, members);
    yield* await inLanes(members.entries(), lanes, ([index, member]) =>
      resultOf(ports, forHandler, node, member, records[index]),
    );
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
  forHandler: ForHandler,
  { ended }: FamilyNode,
  { key, place, taskId }: Member,
  record: TaskRecord | undefined,
): Promise<ChildResult> {
  const { status } = endIn(ended[place] ?? "");
  const isSame = record?.status === status;
  const completed = isSame && status === "completed" ? record : undefined;
  const file = completed && fileOf(ports, completed, forHandler);
  return {
    taskId,
    key: shownKey(key),
    status,
    result: file === undefined ? completed && (await jsonOf(ports, completed)) : { file },
    file,
    error: isSame ? record.error : undefined,
    errorKind: isSame ? record.error_kind : undefined,
  };
}

/** The file that is a task's result. Undefined: its result is JSON. */
function fileOf(ports: FamilyReadPorts, record: TaskRecord, forHandler: ForHandler): ChildFile | undefined {
  const { result_ref: reference } = record;
  if (reference === undefined) return undefined;
  const { file_name: fileName, content_type: contentType, bytes } = reference;
  if (fileName === undefined && contentType === "application/json") return undefined;
  const content = () => contentOf(ports, record, reference, forHandler);
  return {
    ...{ contentType, bytes, fileName },
    read: async () => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of content()) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    stream: () => streamOf(content()),
  };
}

/** The bytes of a result beside its record. @throws PermanentError when it is no longer kept */
async function* contentOf(
  { records, blobs }: FamilyReadPorts,
  record: TaskRecord,
  { blob, part }: ResultReference,
  forHandler: ForHandler,
): AsyncGenerator<Uint8Array> {
  const gone = () => new PermanentError(`the result of the child ${record.task_id} is no longer kept`);
  if (blob !== undefined) {
    const stored = await forHandler(blobs.read(blob));
    if (stored === undefined) throw gone();
    yield* eachForHandler(stored.bytes, forHandler);
    return;
  }
  const body = await forHandler(records.loadPart(record, `result#${part}`));
  if (typeof body !== "string" && !(body instanceof Uint8Array)) throw gone();
  yield typeof body === "string" ? Buffer.from(body) : body;
}

async function jsonOf({ records, blobs }: FamilyReadPorts, record: TaskRecord): Promise<unknown> {
  const { result_ref: reference } = record;
  if (reference === undefined) return record.result ?? null;
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
