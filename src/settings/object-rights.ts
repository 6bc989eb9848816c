/**
 * Rights on the bucket's objects, by role and kind. The construct grants them (`lib/access.ts`); the local server and
 * the pipeline in memory refuse what a role does not have, so tests need each of them.
 */

/** S3 actions that a role can have on objects. A signed URL has the permissions of its signer. */
export type ObjectAction = "GetObject" | "PutObject" | "DeleteObject" | "AbortMultipartUpload";

/**
 * Patterns of the keys in `src/core/ports/blob.ts`, by the kind of object. The first part of a key is the tenant.
 */
export const objectKeys = { inputs: "*/input-*", results: "*/result-*", uploads: "*/uploads/*" } as const;

type ObjectKind = keyof typeof objectKeys;

/** Actions on each kind of object. */
export type ObjectRights = { readonly [kind in ObjectKind]?: readonly ObjectAction[] };

/**
 * The objects that every worker reads and writes. Only a stream, such as a file of a handler, is stored in several
 * parts.
 */
const worker = {
  inputs: ["GetObject", "PutObject"],
  results: ["GetObject", "PutObject", "AbortMultipartUpload"],
  uploads: ["GetObject"],
} as const satisfies ObjectRights;

/** The daily purge of objects that nothing needs any more. */
const purge = {
  inputs: ["DeleteObject"],
  results: ["DeleteObject"],
  uploads: ["DeleteObject"],
} as const satisfies ObjectRights;

export const objectRights = {
  /** Get: to compare an upload with what was announced. */
  submit: { inputs: ["PutObject"], uploads: ["GetObject", "PutObject"] },
  status: { results: ["GetObject"] },
  /** Put: a large input of a retry. Delete: an acknowledged result. */
  control: { inputs: ["GetObject", "PutObject"], results: ["DeleteObject"] },
  fire: { inputs: ["PutObject"] },
  worker,
  /** The worker of the tier with Offload's own tasks. */
  internalWorker: {
    inputs: [...worker.inputs, ...purge.inputs],
    results: [...worker.results, ...purge.results],
    uploads: [...worker.uploads, ...purge.uploads],
  },
} as const satisfies Readonly<Record<string, ObjectRights>>;

export type ObjectRole = keyof typeof objectRights;

const isKind = (kind: ObjectKind, key: string): boolean =>
  new RegExp(`^${objectKeys[kind].replaceAll("*", ".*")}$`, "s").test(key);

/**
 * Returns what a role has no right to do, in words. Undefined: it may.
 * @param role Another name than those of the table: it has no rights.
 */
export function deniedAccess(role: string, action: ObjectAction, key: string): string | undefined {
  const rights: ObjectRights = Object.hasOwn(objectRights, role) ? objectRights[role as ObjectRole] : {};
  const kinds = (Object.keys(objectKeys) as ObjectKind[]).filter((kind) => isKind(kind, key));
  if (kinds.some((kind) => rights[kind]?.includes(action))) return undefined;
  return `The role ${role} has no right to s3:${action} of ${kinds.join() || "other objects"}: object-rights.ts`;
}
