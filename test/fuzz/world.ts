import { createAuthorizer } from "../../src/api/http/authorizer.ts";
import type { AuthorizerContext, GatewayAnswer, GatewayEvent } from "../../src/api/http/event.ts";
import { type HttpFunction, isOpen, otherRequests, routeOf } from "../../src/api/http/routes.ts";
import { serve } from "../../src/api/http/serve.ts";
import { openApiDocument } from "../../src/api/openapi/document.ts";
import { createGate } from "../../src/core/limits/gate.ts";
import { noLimits } from "../../src/core/limits/limits.ts";
import { PermanentError } from "../../src/core/model/errors.ts";
import { systemTenant } from "../../src/core/model/internal-names.ts";
import { iso } from "../../src/core/model/record.ts";
import { tiers } from "../../src/core/model/words.ts";
import { callbackFault } from "../../src/core/notify/callback-url.ts";
import { type NotifyPorts, notify } from "../../src/core/notify/notify.ts";
import { fire } from "../../src/core/schedules/fire.ts";
import { knownTypesOf } from "../../src/core/task/catalog.ts";
import { file } from "../../src/core/task/result.ts";
import { toCatalog } from "../../src/core/task/to-catalog.ts";
import { MemoryAuditLog } from "../../src/memory/audit.ts";
import { MemorySlowHosts } from "../../src/memory/deliveries.ts";
import { MemoryKeys } from "../../src/memory/keys.ts";
import { MemoryLimits } from "../../src/memory/limits.ts";
import { MemoryConnections, MemorySocket } from "../../src/memory/push.ts";
import { MemoryReceivers } from "../../src/memory/receivers.ts";
import { MemoryUsage } from "../../src/memory/usage.ts";
import { Dice } from "../simulation/dice.ts";
import { Documented } from "../support/documented.ts";
import { allParts } from "../support/parts/all.ts";
import { schedulesPipeline } from "../support/schedules-pipeline.ts";
import { appsOf } from "../support/served.ts";
import { echo, typeOf } from "../support/task-types.ts";
import { type Caller, Owners, type Viewer } from "./owners.ts";

/** A request, as the gateway gets it. */
export interface Sent {
  method: string;
  path: string;
  /** Without its question mark. */
  query: string;
  headers: Record<string, string>;
  body: string;
  caller: Caller;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  text: string;
}

/** The longest time of an answer by the deployment's clock: the gateway gives up after this, in milliseconds. */
const longestAnswerMs = 29_000;

/** A worker's time for its attempts, in milliseconds. */
const workerMs = 900_000;

/** Turns of the event loop in which a request must end. A request that waits for nothing needs a few dozen. */
const mostTurns = 500_000;

const child = typeOf((input) => ({ input }), { name: "child" });

/** A type for each way in which a task keeps, shows or passes on what it was given. */
const types = [
  echo,
  child,
  typeOf((input) => ({ input }), { name: "any" }),
  typeOf((input) => Promise.reject(new Error(`it failed: ${JSON.stringify(input)}`)), {
    name: "flaky",
    maxAttempts: 2,
  }),
  typeOf((input) => Promise.reject(new PermanentError(`no: ${JSON.stringify(input)}`)), { name: "broken" }),
  typeOf((input) => input, { name: "sensitive", sensitive: true }),
  typeOf((input) => ({ input }), {
    name: "limited",
    concurrency: { key: () => "all", limit: 1 },
    rateLimit: { limit: 2, perSeconds: 10 },
  }),
  typeOf(() => Promise.reject(new Error("down")), { name: "guarded", breaker: { failures: 2, coolDownSeconds: 600 } }),
  typeOf((input) => file(new TextEncoder().encode(JSON.stringify(input)), { contentType: "text/plain" }), {
    name: "file",
    keepInput: true,
    files: { data: { required: false } },
  }),
  typeOf(
    async (input, task) => {
      const first = await task.step("one", () => input);
      const signal = await task.waitFor("approved", { timeoutSeconds: 600 });
      return { first, signal };
    },
    { name: "steps", push: "result" },
  ),
  typeOf(async (input, task) => void (await task.spawnAll(child, [input, input])), { name: "parent", children: {} }),
];

/** Names of the types that tasks can have. */
export const typeNames = types.map(({ name }) => name);

const document = openApiDocument(toCatalog(types), "1.2.3");
export const documentOfWorld = document;
const documented = new Documented(document);

/** Tenants of which admins speak. The last has no callers of its own. */
export const tenants = ["acme", "globex", "nobody"] as const;

/** Two tenants, each with an admin, an operator, two viewers and two submitters, and who is nobody. */
export const callers: readonly [Caller, ...Caller[]] = [
  { name: "none", token: "" },
  { name: "none", token: "ofl_abcdefgh_0123456789012345678901234567" },
  ...tenants.slice(0, 2).flatMap((tenant): Caller[] => [
    { name: "admin", token: `${tenant}-admin`, tenant, role: "admin" },
    { name: "op", token: `${tenant}-op`, tenant, role: "operator" },
    { name: "view", token: `${tenant}-view`, tenant, role: "viewer" },
    { name: "viewall", token: `${tenant}-viewall`, tenant, role: "viewer", inputs: true },
    { name: "sub1", token: `${tenant}-sub1`, tenant, role: "submitter" },
    { name: "sub2", token: `${tenant}-sub2`, tenant, role: "submitter" },
  ]),
];
const localKeys = callers
  .filter(({ tenant }) => tenant !== undefined)
  .map(({ token, tenant, role, inputs }) => `${token}:${tenant}:${role}${inputs ? ":inputs" : ""}`)
  .join();

/** The tenants and tasks that the answer to a request may show. */
export function viewerOf({ caller, path, query }: Pick<Sent, "caller" | "path" | "query">): Viewer {
  if (caller.tenant === undefined) return { tenants: [] };
  const named = new URLSearchParams(query).get("tenant") ?? undefined;
  if (caller.role === "submitter") return { tenants: [caller.tenant], only: caller.name };
  if (caller.role !== "admin") return { tenants: [caller.tenant] };
  // An admin's request about a tenant is in that tenant's audit.
  const [, about = named ?? caller.tenant] = /^\/tenants\/(\w+)/.exec(path) ?? [];
  const ofAll = about === "*" || query.includes("scope=deployment");
  // Admins share what belongs to no tenant.
  return { tenants: [...(ofAll ? tenants : [about]), systemTenant, "all"] };
}

/** The tenant of something in an answer, if its caller must not see it. Admins list tenants; an audit has what was asked for. */
function foreignTenantIn(sent: Sent, text: string): string | undefined {
  if (sent.path === "/tenants" || sent.path === "/audit") return undefined;
  const named = [...text.matchAll(/"tenant_id":"([a-z]+)"/g)].map(([, tenant = ""]) => tenant);
  return named.find((tenant) => !viewerOf(sent).tenants.includes(tenant) && !JSON.stringify(sent).includes(tenant));
}

/** All functions of a deployment behind one gateway, in memory, with two tenants. */
export function fuzzWorld() {
  const base = schedulesPipeline(types, [], [], allParts);
  const ownNumbers = new Dice(1);
  const { clock, queues, records, notices, log } = base;
  const kept = {
    audit: new MemoryAuditLog(),
    receivers: new MemoryReceivers(),
    keys: new MemoryKeys(),
    limits: new MemoryLimits(),
    types: knownTypesOf(types),
    newCorrelationId: base.ports.newId,
    callbackFault: async (url: string) => callbackFault(url, []),
    // Keys have ids and secrets of a run's own numbers: the same seed makes the same requests.
    randomBytes: (count: number) => Uint8Array.from({ length: count }, () => ownNumbers.int(0, 255)),
  };
  const stores = { clock, log, records, usage: new MemoryUsage(), limits: kept.limits, depths: queues };
  const ports = { ...base.ports, ...kept, gate: createGate(stores, noLimits) };
  // The function control has no gate: operations are submits of Offload's own.
  const { gate: _, ...others } = ports;
  const apps = { ...appsOf(others), submit: appsOf(ports).submit };
  const functions = Object.fromEntries(Object.entries(apps).map(([name, app]) => [name, serve(app)])) as Record<
    HttpFunction,
    (event: GatewayEvent) => Promise<GatewayAnswer>
  >;
  const authorize = createAuthorizer({ clock, log, keys: kept.keys, localKeys });
  const owners = new Owners(tenants, (id) => records.all().find((record) => record.task_id === id)?.tenant_id);
  const heard: string[] = [];

  /** Lets time pass until a promise is settled. @throws Error when it hangs */
  const answered = async <T>(what: string, answering: Promise<T>, longestMs = longestAnswerMs): Promise<T> => {
    const untilMs = clock.now() + longestMs;
    let done = false;
    const end = answering.finally(() => {
      done = true;
    });
    end.catch(() => {});
    for (let turns = 0; !done; turns++) {
      const next = clock.nextTimer();
      if (turns > mostTurns || (next !== undefined && next > untilMs)) throw new Error(`${what} hangs`);
      // Timers of other requests may be due much later: what needs no timer ends without time.
      await clock.advance(turns < 20 || next === undefined ? 0 : Math.max(0, next - clock.now()));
    }
    return end;
  };

  const send = async ({ method, path, query, headers, body, caller }: Sent): Promise<Answer> => {
    const route = routeOf(method, path);
    const authorization = caller.token === "" ? undefined : `Bearer ${caller.token}`;
    const lambda: AuthorizerContext = isOpen(route) ? {} : await authorize(authorization);
    const event = {
      rawPath: path,
      rawQueryString: query,
      headers: { host: "api.test", ...(authorization !== undefined && { authorization }), ...headers },
      body: Buffer.from(body, "latin1").toString("base64"),
      isBase64Encoded: true,
      requestContext: { domainName: "api.test", http: { method }, authorizer: { lambda } },
    };
    const what = `${method} ${path}?${query} of ${caller.token}`;
    const result = await answered(what, functions[route?.functionName ?? otherRequests](event));
    const text = result.isBase64Encoded ? Buffer.from(result.body, "base64").toString("latin1") : result.body;
    return { status: result.statusCode, headers: result.headers, text };
  };

  /** Returns why an answer is wrong. Undefined: it is as documented, and shows nothing that its caller must not see. */
  const faultOf = (sent: Sent, { status, headers, text }: Answer): string | undefined => {
    if (status >= 500) return `the status is ${status}: ${text}`;
    const all = JSON.stringify([headers, text]);
    const foreign = owners.foreignIn(viewerOf(sent), all, JSON.stringify(sent));
    if (foreign !== undefined) return `the answer has ${foreign}: ${all}`;
    const tenant = foreignTenantIn(sent, text);
    if (tenant !== undefined) return `the answer is of the tenant ${tenant}: ${all}`;
    const path = sent.query === "" ? sent.path : `${sent.path}?${sent.query}`;
    return documented.faultOf({ method: sent.method, path, status, headers: new Headers(headers), text });
  };

  /** Keeps what others than callers hear of a tenant: receivers of webhooks, channels, the event bus. */
  const hear = (viewer: Viewer, text: string) => {
    const foreign = owners.foreignIn(viewer, text, "");
    if (foreign !== undefined) heard.push(`${JSON.stringify(viewer)} hears ${foreign}: ${text}`);
  };
  const socket = new MemorySocket();
  const connections = new MemoryConnections(clock);
  /** Opens a channel for each caller, and one for each tenant. */
  const listen = async (): Promise<void> => {
    for (const { tenant = "", token, role } of callers.slice(2)) {
      const { principal = "" } = await authorize(`Bearer ${token}`);
      const scope = role === "submitter" ? ("own" as const) : ("tenant" as const);
      const of = { tenant_id: tenant, principal, scope, connected_at: iso(clock.now()) };
      const connection = { ...of, connection_id: token, channel_id: token };
      await connections.add(connection);
      await connections.announce(connection);
      notices.listeners.add(`${tenant}/${scope === "own" ? principal : "*"}`);
    }
  };
  const notifyPorts: NotifyPorts = {
    ...ports,
    slowHosts: new MemorySlowHosts(),
    connections,
    socket,
    drops: new Map(),
    signer: { sign: async () => ({}) },
    sender: {
      send: async ({ url, body }) => {
        const [, tenant, name = ""] = /mark-([a-z]+)-([a-z0-9]+)-/.exec(url) ?? [];
        if (tenant !== undefined) hear({ tenants: [tenant], only: name.startsWith("sub") ? name : undefined }, body);
        return /[02468]$/.test(url) ? { status: 204 } : { status: 410 };
      },
    },
  };

  /** Works, fires what is due and a schedule, and tells of it. */
  const live = async (): Promise<void> => {
    await clock.advance(1_000);
    for (const tenant of tenants) {
      if ((await kept.receivers.list(tenant)).length > 0) notices.receivers.add(tenant);
    }
    await answered("fire", base.fire());
    for (const tier of tiers) await answered(`a worker of ${tier}`, base.work(tier), workerMs);
    await Promise.all(notices.take().map((notice) => answered("notify", notify(notifyPorts, notice))));
    for (const { connectionId, text } of socket.messages.splice(0)) {
      const caller = callers.find(({ token }) => token === connectionId);
      if (caller !== undefined) hear(viewerOf({ caller, path: "", query: "" }), text);
    }
    const rule = [...base.rules.rules.all().values()][clock.now() % 7];
    if (rule !== undefined) {
      const firing = { ...rule.payload, scheduled_for: iso(clock.now()) } as Parameters<typeof fire>[1];
      await answered("a firing", fire(ports, firing, clock.now() + 300_000));
    }
  };

  return { send, faultOf, listen, live, owners, heard, ports };
}
