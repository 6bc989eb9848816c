import { createHash } from "../../util/node-crypto.ts";
import { namedUuid } from "../../util/uuid.ts";
import { PermanentError } from "./errors.ts";
import type { TaskRecord } from "./record.ts";
import type { Identity } from "./words.ts";

/**
 * The namespace of task ids that come from an idempotency key. It must never change: the ids of stored tasks follow
 * from it.
 */
const namespace = "6f1d2a52-9c1c-4f3e-8f0e-5b8d8c1d7a11";

/** The task id of an idempotency key. The same tenant, principal and key always make the same UUID. */
export const taskIdOf = (tenantId: string, principal: string, key: string): string =>
  namedUuid(JSON.stringify([tenantId, principal, key]), namespace);

/**
 * The upload id of a file that came with an idempotency key. The same caller, key and file always make the same UUID.
 */
export const uploadIdOf = ({ tenantId, principal }: Identity, key: string, file: object): string =>
  namedUuid(JSON.stringify([tenantId, principal, key, canonicalJson(file)]), namespace);

/** JSON text with members sorted by name: equal for equal values. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

/** A fingerprint of a JSON value, equal for equal values. */
export const fingerprint = (value: unknown): string =>
  createHash("sha256").update(canonicalJson(value)).digest("base64url").slice(0, 27);

/**
 * The idempotency key of a spawned child: apart from those of `submitChild`. No client can send it.
 */
export const spawnKey = ({ task_id, created_at }: TaskRecord, key: string): string =>
  `family\n${task_id}\n${created_at}\n${key}`;

/** The id of a parent's spawned child. */
export const spawnedId = (parent: TaskRecord, key: string): string =>
  taskIdOf(parent.tenant_id, parent.requested_by, spawnKey(parent, key));

/**
 * Id of a task's end: the same for each notice, webhook and event of it. A later round of the task has another end, and
 * so has a later task under the same idempotency key.
 */
export const endId = ({ tenant_id, task_id, created_at, round }: TaskRecord): string =>
  `msg_${createHash("sha256")
    .update(JSON.stringify([tenant_id, task_id, created_at, round]))
    .digest("base64url")}`;

/** A fault of a text with half a character: UTF-8 cannot tell it from others, so two keys would be one. */
export const halfCharacter = "expected well-formed Unicode, without half a character";

/** @throws PermanentError for a key with half a character */
export function wellFormed(what: string, key: string): string {
  if (key.isWellFormed()) return key;
  throw new PermanentError(`${what}: ${halfCharacter}; got ${JSON.stringify(key)}`);
}

/** The most characters of a key. */
export const longestKey = 256;

/**
 * The stored form of a key: a hash, of the same length for all. Each submitter has keys of its own: it may not learn of
 * tasks that it cannot read, and not change them. Operators of a tenant share their keys.
 */
export const uniqueKeyOf = ({ role, principal }: Identity, { key }: { key: string }): string =>
  fingerprint([role === "submitter" ? principal : null, key]);

/** True for a task with this key, of any submitter. A hot key has the hashes of its lanes, too. */
export const hasUniqueKey = ({ unique_key, requested_by }: Stored, key: string): boolean =>
  [null, requested_by].some((principal) => unique_key?.startsWith(fingerprint([principal, key])));

type Stored = Pick<TaskRecord, "unique_key" | "requested_by">;

/** Effects of a submit whose key another task has that has not ended. */
export const uniqueModes = ["existing", "reject", "replace", "debounce", "restart", "collect"] as const;
