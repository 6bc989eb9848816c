import { canonicalJson } from "../../core/model/idempotency.ts";
import { Problem } from "../../core/model/problem.ts";
import type { Identity } from "../../core/model/words.ts";
import { createHmac, timingSafeEqual } from "../../util/node-crypto.ts";
import type { ApiResponse, Call } from "./call.ts";

/** The caller, list and filters for which a cursor is valid. */
export interface CursorScope {
  identity: Identity;
  list: string;
  filters: Record<string, unknown>;
}

/** A list of which a caller asks for a page. Default of `filters`: none. */
interface Listed extends Omit<CursorScope, "filters">, Partial<Pick<CursorScope, "filters">> {
  cursor: string | undefined;
}

/** The items of a page, under their name in the answer, and the place where the next page begins. */
interface PageOfList {
  items: Readonly<Record<string, readonly unknown[]>>;
  next: string | undefined;
}

/** Answers with a page of a list. `read` gets the place where it begins. Undefined: it is the first one. */
export async function pageAnswer(
  { cursors }: { cursors: Cursors },
  call: Call,
  { cursor, filters = {}, ...list }: Listed,
  read: (from: string | undefined) => Promise<PageOfList>,
): Promise<ApiResponse> {
  const scope = { ...list, filters };
  const { items, next } = await read(cursor === undefined ? undefined : cursors.read(scope, cursor));
  return call.unstored({ ...items, next_cursor: next === undefined ? null : cursors.write(scope, next) });
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
    const [text = ""] = cursor.split(".");
    const from = Buffer.from(text, "base64url").toString("utf8");
    // Compared as text: several texts decode to the same bytes.
    const given = Buffer.from(cursor);
    const expected = Buffer.from(this.write(scope, from));
    const valid = given.length === expected.length && timingSafeEqual(given, expected);
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
