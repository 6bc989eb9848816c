import type { Role } from "../core/model/identity.ts";
import type { CallOptions } from "./limits.ts";
import { List } from "./list.ts";
import { type ClientOptions, type Query, Transport } from "./transport.ts";
import { toWire } from "./wire.ts";

/** A change by an operator or admin, or by a command that works on the table. */
export interface AuditEntry {
  audit_id: string;
  at: string;
  /** Principal of the caller. `cli:<user>`: a command that worked on the table itself. */
  actor: string;
  /** Null: the actor has access to the table. */
  role: Role | null;
  /** `operationId` of the request, as in `/openapi.json`; for a command its words, such as `keys create`. */
  action: string;
  /** Parts of the request's path, such as `task_id`. */
  target: Record<string, string>;
  /** HTTP status of the answer. Null: none yet, or the process died, and the change may have been made. */
  status: number | null;
  /** Body of the request. Null: it has none, or one that may have an input of a task. */
  request: unknown;
  correlation_id: string;
}

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
