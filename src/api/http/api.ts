import { fieldProblem } from "../../core/model/field-problem.ts";
import { tenantPattern, withoutSecrets } from "../../core/model/keys.ts";
import { Problem } from "../../core/model/problem.ts";
import { type Identity, type Role, readsAs, roles } from "../../core/model/words.ts";
import { isCorrelationId } from "../../core/pipeline/submit/submit-ports.ts";
import { wholeDeployment } from "../../core/ports/audit.ts";
import { isTraceparent, type Log, type SpanStart, type Tracing } from "../../core/ports/tasks.ts";
import { lazily } from "../../util/lazily.ts";
import type { ApiResponse, Call } from "./call.ts";
import type { AuthorizerContext, GatewayEvent } from "./event.ts";
import { problemResponse } from "./problem.ts";
import { type RouteHandler, Router } from "./router.ts";
import {
  type HttpFunction,
  isChange,
  isNamedByOther,
  otherRequests,
  type Route,
  type RouteName,
  routes,
  routesAt,
  routeTable,
} from "./routes.ts";

export interface ApiPorts {
  newCorrelationId: () => string;
  log: Log;
  tracing: Tracing;
}

const securityHeaders = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "strict-transport-security": "max-age=31536000",
} as const;

/** A handler for each route of a function, by the route's name in `routes.ts`. */
export type HandlersOf<Name extends HttpFunction> = Readonly<Record<RouteName<Name>, RouteHandler>>;

/** Makes a handler of another function's route a type error. */
type NoOthers<Handlers, Name extends HttpFunction> = { [Other in Exclude<keyof Handlers, RouteName<Name>>]: never };

/** Creates the app of a function: its routes, each with its handler. */
export function apiOf<Name extends HttpFunction, Handlers extends HandlersOf<Name>>(
  name: Name,
  ports: ApiPorts,
  handlers: Handlers & NoOthers<Handlers, Name>,
): Router {
  const router = createRouter(ports);
  for (const route of routes.filter(({ functionName }) => functionName === name)) {
    const { method, path } = route;
    const own: RouteHandler = handlers[route.name as RouteName<Name>];
    const handler = isChange(route) ? notForViewers(own) : own;
    router.on(method, path, path.includes("{") ? onlyFor(path, handler) : handler);
  }
  return router;
}

/** Also of a route that is added later: nothing but the table of routes says what a viewer may ask for. */
const notForViewers =
  (handler: RouteHandler): RouteHandler =>
  (call) => {
    if (authorizerContext(call.event)?.role !== "viewer") return handler(call);
    throw new Problem("forbidden", "This request changes something, which the role viewer may not.");
  };

/** A path that another route names word for word is none of a route with a step in braces. */
function onlyFor(path: string, handler: RouteHandler): RouteHandler {
  const isOthers = isNamedByOther(path);
  return (call) => (isOthers(call.req.path) ? missing(call) : handler(call));
}

/** Adds handlers for the function's other routes. They are loaded with the first request for one of them. */
export function withLazy<
  Name extends HttpFunction,
  Now extends Partial<HandlersOf<Name>>,
  Later extends Omit<HandlersOf<Name>, keyof Now>,
>(name: Name, now: Now, load: () => Promise<Later>): Now & Later {
  const loaded = lazily<Record<string, RouteHandler>>(load);
  const lazy = (route: string) => async (call: Call) => ((await loaded())[route] ?? missing)(call);
  const all = Object.fromEntries(Object.keys(routeTable[name]).map((route) => [route, lazy(route)]));
  return { ...all, ...now } as Now & Later;
}

/**
 * Creates a router with the common parts of all routes: correlation ids, traces, security headers, and problems for all
 * errors. It refuses paths without a route, and methods that a route does not support.
 */
export const createRouter = (ports: ApiPorts): Router =>
  new Router({
    missing,
    answer: async (call, handler) => {
      const given = call.req.header("x-correlation-id");
      const isGiven = given !== undefined && isCorrelationId(given);
      call.set("correlationId", isGiven ? given : ports.newCorrelationId());
      call.set("correlationGiven", isGiven || undefined);
      const response = await ports.tracing.span(spanOf(call), async (span) => {
        call.set("traceparent", span.traceparent);
        const answered = await answerOf(ports, call, handler);
        span.set({ "http.response.status_code": answered.status });
        if (answered.status >= 500) span.fail(String(answered.status));
        return answered;
      });
      // A page needs another content security policy than data.
      const headers = { ...securityHeaders, ...response.headers, "x-correlation-id": call.get("correlationId") };
      return { ...response, headers };
    },
  });

async function answerOf(ports: ApiPorts, call: Call, handler: RouteHandler): Promise<ApiResponse> {
  try {
    return await handler(call);
  } catch (error) {
    return problemResponse(problemOf(ports, call, error), call.get("correlationId"));
  }
}

/** The problem for a request's error. An error that is no problem is logged. */
export function problemOf({ log }: ApiPorts, call: Call, thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (error.name === "Overtaken") return new Problem("conflict", error.message, { retryAfterSeconds: 1 });
  log.error("request failed", {
    correlation_id: call.get("correlationId"),
    method: call.req.method,
    path: pathOf(call),
    error: error.stack ?? String(error),
    ...(error.cause === undefined ? {} : { cause: String(error.cause) }),
  });
  return internal(error);
}

/** The path for logs and traces. A client may have put a whole key in it. */
const pathOf = (call: Call): string => withoutSecrets(call.req.path).slice(0, 200);

const spanOf = (call: Call): SpanStart => ({
  name: `${call.req.method} /${pathOf(call).split("/")[1] ?? ""}`,
  kind: "server",
  traceparent: givenTraceparent(call),
  attributes: {
    "http.request.method": call.req.method,
    "url.path": pathOf(call),
    "offload.correlation_id": call.get("correlationId"),
  },
});

/** Returns the request's trace context. An invalid context is ignored, as W3C demands, and a new trace starts. */
function givenTraceparent(call: Call): string | undefined {
  const value = call.req.header("traceparent")?.trim();
  return value !== undefined && isTraceparent(value) ? value : undefined;
}

/** Returns the problem for an unexpected error, without internal details. */
function internal({ name }: Error): Problem {
  const detail = tryAgain[name];
  if (detail !== undefined) return new Problem("unavailable", detail, { retryAfterSeconds: 5 });
  return new Problem("internal", "An internal error occurred. The log has its cause under this correlation id.");
}

/** Details by name of the error, for errors after which another try may succeed. */
const tryAgain: Readonly<Record<string, string>> = {
  PortUnavailable: "Part of the service is not available now; try again.",
  ChangedMeanwhile: "Another request changed the same record at the same time; try again.",
};

/** Answers a request without a route. @param methods Methods of the router's own routes with its path. */
const missing = (call: Call, methods: readonly string[] = []): ApiResponse =>
  problemResponse(
    noSuchRoute(call.event.requestContext.http.method, call.req.path, methods),
    call.get("correlationId"),
  );

/** Returns a 405 for a path with routes for other methods, else a 404. */
function noSuchRoute(method: string, path: string, own: readonly string[]): Problem {
  const found = routesAt(path);
  const allow = new Set<string>([...found.map((route) => route.method), ...own]);
  // The gateway has no routes for HEAD: it reaches the function that answers all other requests.
  const isGet = (route: Route) => route.method === "GET" && route.functionName === otherRequests;
  if (found.some(isGet) || (found.length === 0 && own.includes("GET"))) allow.add("HEAD");
  if (allow.size === 0 || allow.has(method)) return new Problem("not_found", "No such route.");
  return new Problem("method_not_allowed", `This route does not support the method ${method.slice(0, 20)}.`, {
    allow: [...allow].sort(),
  });
}

/**
 * Returns the caller's identity, with the tenant of `?tenant=`.
 * @param least Lowest role that the route accepts.
 * @param reach `all`: the route also takes `tenant=*`, for which the identity's tenant is `wholeDeployment`.
 * @throws Problem `unauthenticated`, `forbidden`, `invalid_input`; `unavailable` when the authorizer could not check
 * the token
 */
export function identify(call: Call, least: Role = "submitter", reach: "one" | "all" = "one"): Identity {
  const context = authorizerContext(call.event);
  const role = roles.find((known) => known === context?.role);
  if (context?.unavailable !== undefined) {
    throw new Problem("unavailable", "The token cannot be checked now; try again.", { retryAfterSeconds: 5 });
  }
  if (context?.tenant_id === undefined || context.principal === undefined || role === undefined) {
    throw new Problem(
      "unauthenticated",
      "A valid bearer token is required: an API key, or a token of the configured issuer.",
    );
  }
  if (!readsAs(role, least)) {
    throw new Problem("forbidden", `This request requires the role ${least}. The token has the role ${role}.`);
  }
  const { tenant_id: tenantId, principal } = context;
  return inTenant(call, { tenantId, principal, role, ...(context.inputs === "true" && { inputs: true }) }, reach);
}

/**
 * Applies `?tenant=`: an admin may name any tenant, and where a route reaches them all of them; other callers only
 * their own.
 */
function inTenant(call: Call, identity: Identity, reach: "one" | "all"): Identity {
  const { tenant } = call.req.query;
  if (tenant === undefined || tenant === identity.tenantId) return identity;
  if (identity.role !== "admin") throw new Problem("forbidden", "Only an admin may name another tenant.");
  if (!tenantPattern.test(tenant) && !(reach === "all" && tenant === wholeDeployment)) {
    throw fieldProblem(
      "tenant",
      tenant === wholeDeployment
        ? "expected one tenant: this request does not act on all of them"
        : "expected 1 to 64 of A-Z, a-z, 0-9, '_' and '-'",
    );
  }
  return { ...identity, tenantId: tenant };
}

const authorizerContext = (event: GatewayEvent | undefined): AuthorizerContext | undefined =>
  event?.requestContext.authorizer?.lambda;
