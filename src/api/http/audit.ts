import * as z from "zod";
import { tenantPattern, withoutSecrets } from "../../core/model/keys.ts";
import { Problem, problemCodes } from "../../core/model/problem.ts";
import { iso } from "../../core/model/record.ts";
import type { Identity } from "../../core/model/words.ts";
import { type AuditEntry, type AuditLog, wholeDeployment } from "../../core/ports/audit.ts";
import type { Clock, NewId } from "../../core/ports/tasks.ts";
import type { AuditEntry as AuditView } from "../acts/views.ts";
import { type ApiPorts, type HandlersOf, identify, problemOf } from "./api.ts";
import { optionalJsonBody } from "./body.ts";
import type { Call } from "./call.ts";
import { type Cursors, pageAnswer } from "./cursor.ts";
import { pageParameters, queryOf, timeParameter } from "./query.ts";
import type { RouteHandler } from "./router.ts";
import { type HttpFunction, isRecorded, type Route, type RouteName, routes } from "./routes.ts";

/** Query of `GET /audit`. */
export const auditListSchema = z.object({
  ...pageParameters,
  scope: z.enum(["tenant", "deployment"]).default("tenant"),
  actor: z.string().min(1).max(256).optional(),
  action: z.string().min(1).max(64).optional(),
  task_id: z.string().min(1).max(64).optional(),
  after: timeParameter.optional(),
  before: timeParameter.optional(),
});

export interface AuditPorts extends ApiPorts {
  clock: Clock;
  newId: NewId;
  audit: AuditLog;
}

/** The longest body that an entry has, in characters. */
const longestBody = 8_192;

/**
 * Adds the audit to a function's handlers: each change by an operator or admin has an entry, and each read of a secret.
 * It is stored before the change, without which nothing is changed, and gets the answer's status after it. An entry
 * without one tells of a change that may have been made: its process died.
 */
export function audited<Name extends HttpFunction, Handlers extends Readonly<Record<RouteName<Name>, RouteHandler>>>(
  name: Name,
  ports: AuditPorts,
  handlers: Handlers,
): Handlers {
  const own = routes.filter((route) => route.functionName === name && isRecorded(route));
  const all = own.map((route) => [route.name, recorded(ports, route, handlers[route.name as RouteName<Name>])]);
  return { ...handlers, ...Object.fromEntries(all) };
}

const recorded =
  (ports: AuditPorts, route: Route, handler: RouteHandler): RouteHandler =>
  async (call) => {
    const identity = operatorOf(call);
    if (identity === undefined) return handler(call);
    const entry = await entryOf(ports, call, identity, route);
    await ports.audit.add(entry);
    call.set("addTarget", (more) => ports.audit.add({ ...entry, target: { ...entry.target, ...more } }));
    const answered = (status: number) =>
      ports.audit.answered(entry, status).catch((error: unknown) => {
        ports.log.warn("could not store the answer in the audit", { audit_id: entry.audit_id, error: String(error) });
      });
    try {
      const response = await handler(call);
      await answered(response.status);
      return response;
    } catch (error) {
      const problem = problemOf(ports, call, error);
      await answered(problemCodes[problem.code].status);
      throw problem;
    }
  };

/** The caller, if its requests are recorded. A submitter changes its own tasks only, and their records name it. */
function operatorOf(call: Call): Identity | undefined {
  const identity = identify(call, "submitter", "all");
  return identity.role === "submitter" ? undefined : identity;
}

async function entryOf(
  ports: AuditPorts,
  call: Call,
  { tenantId, principal, role }: Identity,
  { name: action, notes }: Route,
): Promise<AuditEntry> {
  const request = notes.includes("body") ? await bodyOf(call) : undefined;
  // An operator is refused, which its own tenant sees.
  const isForAll = role === "admin" && (notes.includes("all") || request?.all === true);
  return {
    tenant_id: isForAll ? wholeDeployment : concerned(call, role, tenantId),
    at: iso(ports.clock.now()),
    audit_id: ports.newId(),
    actor: principal,
    role,
    action,
    target: shortened(call.req.params),
    ...(request !== undefined && { request }),
    correlation_id: call.get("correlationId"),
  };
}

/**
 * An admin may name the tenant that an act concerns in the path. An operator who names another one is refused, which
 * its own tenant sees.
 */
function concerned(call: Call, role: Identity["role"], own: string): string {
  const named = call.req.params.tenant_id;
  return role === "admin" && named !== undefined && tenantPattern.test(named) ? named : own;
}

/** A path can have parts of any length, and whole keys, which the handler then refuses. */
const shortened = (parts: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(parts).map(([name, value]) => [name, withoutSecrets(value).slice(0, 256)]));

/** The request's JSON without secrets of keys. The handler reads it again, and refuses a body that cannot be read. */
async function bodyOf(call: Call): Promise<Record<string, unknown> | undefined> {
  try {
    const body = await optionalJsonBody(call);
    const text = JSON.stringify(body);
    if (text.length > longestBody || Object.keys(body).length === 0) return undefined;
    return JSON.parse(withoutSecrets(text)) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** The handler that lists the audit. */
export const auditReads = (ports: { audit: AuditLog; cursors: Cursors }) =>
  ({
    listAudit: async (call) => {
      const identity = identify(call, "viewer");
      const { limit, cursor, scope: of, task_id: taskId, ...query } = queryOf(call, auditListSchema);
      if (of === "deployment") identify(call, "admin");
      const filters = { taskId, ...query };
      const tenantId = of === "deployment" ? wholeDeployment : identity.tenantId;
      return pageAnswer(ports, call, { identity, list: `audit of the ${of}`, filters, cursor }, async (from) => {
        const { items, next } = await ports.audit.list({ tenantId, ...filters, limit, from });
        return { items: { entries: items.map(entryView) }, next };
      });
    },
  }) satisfies Partial<HandlersOf<"status">>;

const entryView = ({ tenant_id: _, role, status, request, ...entry }: AuditEntry): AuditView => ({
  ...entry,
  role: role ?? null,
  status: status ?? null,
  request: request ?? null,
});
