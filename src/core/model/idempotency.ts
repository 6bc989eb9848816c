import { createHash } from "../../util/node-crypto.ts";
import { namedUuid } from "../../util/uuid.ts";
import type { Identity } from "./identity.ts";
import type { TaskRecord } from "./record.ts";

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
