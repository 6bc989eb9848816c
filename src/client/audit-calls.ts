import type { AuditEntry } from "../api/acts/views.ts";
import type { CallOptions } from "./limits.ts";
import { List } from "./list.ts";
import { type ClientOptions, type Query, Transport } from "./transport.ts";
import { toWire } from "./wire.ts";

/** Filters of the audit. */
export interface AuditFilter {
  actor?: string | undefined;
  action?: string | undefined;
  taskId?: string | undefined;
  after?: Date | string | undefined;
  before?: Date | string | undefined;
  /** `deployment`: what concerns all tenants; requires the role admin. Default: `tenant`. */
  scope?: "tenant" | "deployment" | undefined;
}

/** The changes by operators and admins. Requires the role operator. */
export class Audit {
  readonly #transport: Transport;

  /**
   * @throws TypeError when an option is missing or not valid
   * @example for await (const { at, actor, action } of new Audit({ url, key }).list()) console.log(at, actor, action);
   */
  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
  }

  /** Lists entries of the last 400 days, newest first. */
  list(filter: AuditFilter = {}, options?: CallOptions): List<AuditEntry> {
    return new List(this.#transport, "/audit", "entries", toWire(filter) as Query, options);
  }
}
