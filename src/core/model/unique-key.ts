import { fingerprint } from "./idempotency.ts";
import type { Identity } from "./identity.ts";
import type { Unique } from "./unique-body.ts";

/**
 * The stored form of a key: a hash, of the same length for all. Each submitter has keys of its own: it may not learn of
 * tasks that it cannot read, and not change them. Operators of a tenant share their keys.
 */
export const uniqueKeyOf = ({ role, principal }: Identity, { key }: Pick<Unique, "key">): string =>
  fingerprint([role === "submitter" ? principal : null, key]);
