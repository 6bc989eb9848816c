import { createHmac, timingSafeEqual } from "node:crypto";
import { canonicalJson } from "../core/idempotency.ts";
import type { Identity } from "../core/identity.ts";
import { Problem } from "../core/problem.ts";

/** The caller, list and filters for which a cursor is valid. */
export interface CursorScope {
  identity: Identity;
  list: string;
  filters: Record<string, unknown>;
}

/** Writes and reads cursors. They are opaque to clients, and signed, so that each is valid for its scope only. */
export class Cursors {
  readonly #key: string;

  constructor(key: string) {
    this.#key = key;
  }

  write(scope: CursorScope, from: string): string {
    return `${Buffer.from(from).toString("base64url")}.${this.#sign(scope, from).toString("base64url")}`;
  }

  /** @throws Problem `malformed_request` for a cursor that was not written for this scope */
  read(scope: CursorScope, cursor: string): string {
    const [text = "", signature = "", ...rest] = cursor.split(".");
    const from = Buffer.from(text, "base64url").toString("utf8");
    const given = Buffer.from(signature, "base64url");
    const expected = this.#sign(scope, from);
    const valid = rest.length === 0 && given.length === expected.length && timingSafeEqual(given, expected);
    if (!valid) {
      throw new Problem("malformed_request", "The cursor is not valid, or belongs to another list, filter or caller.");
    }
    return from;
  }

  #sign({ identity, list, filters }: CursorScope, from: string): Buffer {
    const principal = identity.role === "submitter" ? identity.principal : "";
    return createHmac("sha256", this.#key)
      .update(canonicalJson([identity.tenantId, principal, list, filters, from]))
      .digest();
  }
}
