import type { Role } from "../model/words.ts";
import type { Page } from "./tasks.ts";

/** The tenant of acts that concern all tenants. No tenant has this id. */
export const wholeDeployment = "*";

/** The names of an entry. */
export interface AuditKey {
  /** The tenant that the act concerns, or `wholeDeployment`. */
  tenant_id: string;
  /** ISO 8601 UTC. */
  at: string;
  audit_id: string;
}

/**
 * An act of an operator or admin, of somebody with access to the deployment's table, or of a type that paused itself.
 */
export interface AuditEntry extends AuditKey {
  /** The principal; `cli:<user>` for a command that works on the table itself; `byItself`. */
  actor: string;
  /** Absent: the actor has access to the table, or is Offload itself. */
  role?: Role;
  /** The `operationId` of the request, as in `/openapi.json`; for a command its words, such as `keys create`. */
  action: string;
  /** The parts of the path, such as `task_id`; for a command what it changed. */
  target: Readonly<Record<string, string>>;
  /** The request's body, where it has no input of a task. Absent: it has none, or may not be kept. */
  request?: unknown;
  /** HTTP status of the answer. Absent: none yet, or its process died. */
  status?: number;
  correlation_id: string;
}

/** The entries to list, newest first. */
export interface AuditQuery {
  tenantId: string;
  actor?: string | undefined;
  action?: string | undefined;
  taskId?: string | undefined;
  /** ISO 8601 UTC, inclusive. */
  after?: string | undefined;
  /** ISO 8601 UTC, exclusive. */
  before?: string | undefined;
  /** 1 to 100. */
  limit: number;
  /** `next` of the page before. */
  from?: string | undefined;
}

/** The acts of operators. All methods throw `PortUnavailable`. Contract suite: `test/contract/audit.ts`. */
export interface AuditLog {
  /** Stores an act, before it is done. An entry of the same key is replaced. */
  add(entry: AuditEntry): Promise<void>;
  /** Stores how an act was answered. Does nothing when its entry is gone. */
  answered(key: AuditKey, status: number): Promise<void>;
  /** Lists entries. A page may have fewer than `limit`, and others after it. */
  list(query: AuditQuery): Promise<Page<AuditEntry>>;
}

/** The actor of what no person did: a type that paused itself. */
export const byItself = "offload";

/** Entries are kept for this time, in seconds: 400 days. */
export const auditSeconds = 400 * 86_400;
