import { longestWaitSeconds } from "../../core/control/task-ends.ts";
import { type ProblemCode, problemCodes } from "../../core/model/problem.ts";
import { tiers } from "../../core/model/words.ts";
import { type Json, refOf } from "./json-schema.ts";
import { problem } from "./problems.ts";

const text = { type: "string" } as const;
const seconds = { type: "integer", minimum: 1 } as const;

/** Parameters that several routes share. */
const parameters = {
  "Idempotency-Key": {
    in: "header",
    description: "A repeat with the same key, of the same tenant and principal, never creates a second task.",
    schema: { ...text, pattern: "^[\\x20-\\x7e]{1,255}$" },
  },
  "If-None-Match": {
    in: "header",
    description: "`ETag` of the last answer. The answer is 304 while nothing has changed.",
    schema: text,
  },
  wait: {
    in: "query",
    description: "Waits for the end of the task, at most this number of seconds.",
    schema: { type: "integer", minimum: 1, maximum: longestWaitSeconds },
  },
  Prefer: {
    in: "header",
    description:
      "`wait=20` waits as the parameter `wait` does, if that is absent. More than 20 counts as 20. Other preferences are ignored.",
    schema: text,
    example: "wait=20",
  },
  "X-Correlation-Id": {
    in: "header",
    description: "Comes back in the answer and in log lines if it is 1 to 128 of A-Z, a-z, 0-9, `.`, `_`, `:` and `-`.",
    schema: text,
  },
  traceparent: {
    in: "header",
    description: "W3C trace context. One that is not valid is ignored.",
    schema: text,
  },
  tenant: {
    in: "query",
    description:
      "Another tenant, for admins only. `*`: all tenants, in lists, groups and operations on many tasks. Default: the caller's own.",
    schema: { ...text, pattern: "^([A-Za-z0-9_-]{1,64}|\\*)$" },
  },
  tags: {
    in: "query",
    description: "Tags that the task must have: `tag.order=7`.",
    style: "form",
    explode: true,
    schema: { type: "object", propertyNames: { pattern: "^tag\\." }, additionalProperties: text },
    example: { "tag.order": "7" },
  },
} as const satisfies Record<string, Json>;

/** Parameters of paths that are no ids of Offload's own. */
const pathParameters: Readonly<Record<string, Json>> = {
  token: { description: "The secret of the link.", schema: text },
  name: { description: "Name of the signal.", schema: { ...text, pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" } },
  task_id: {
    description: "Id of the task; or `~type:key` for the newest task of the type that has or had the unique key.",
    schema: {
      anyOf: [
        { ...text, format: "uuid" },
        { ...text, pattern: "^~[a-z0-9._-]+:.{1,256}$" },
      ],
    },
  },
  schedule_id: {
    description: "Id of the schedule; or `~name` for a schedule that a client made.",
    schema: {
      anyOf: [
        { ...text, format: "uuid" },
        { ...text, pattern: "^~.{1,128}$" },
      ],
    },
  },
  tier: { description: "The tier.", schema: { ...text, enum: tiers } },
  type: { description: "Name of the task type.", schema: { ...text, minLength: 1, maxLength: 64 } },
  tenant_id: { description: "Id of the tenant.", schema: { ...text, pattern: "^[A-Za-z0-9_-]{1,64}$" } },
};

/** A parameter of a path. */
export const pathParameter = (name: string): Json => ({
  name,
  in: "path",
  required: true,
  ...(pathParameters[name] ?? { schema: { ...text, format: "uuid" } }),
});

export type ParameterName = keyof typeof parameters;

/** Headers of answers. */
const headers = {
  "X-Correlation-Id": { description: "The request's own correlation id, or a new one.", schema: text },
  "Retry-After": { description: "Whole seconds to wait before the next request.", schema: seconds },
  "Cache-Control": { schema: text },
  ETag: { description: "Strong tag for `If-None-Match`.", schema: text },
  Location: { description: "Path or URL of the resource.", schema: text },
  "Content-Location": { description: "Path to poll.", schema: text },
  "Content-Disposition": { description: "Name of the file.", schema: text },
  "Idempotent-Replayed": {
    description: "Present when an earlier request with the same key created the task.",
    schema: { const: "true" },
  },
  "Preference-Applied": {
    description: "`wait=` and the seconds, when the preference was followed. Absent: the answer did not wait.",
    schema: text,
  },
  "WWW-Authenticate": { schema: { const: "Bearer" } },
} as const satisfies Record<string, Json>;

export type HeaderName = keyof typeof headers;

/** The parameters, as the document lists them. */
export const parameterParts = (): Json =>
  Object.fromEntries(Object.entries(parameters).map(([name, parameter]) => [name, { name, ...parameter }]));

export const parameterRef = (name: ParameterName): Json => ({ $ref: `#/components/parameters/${name}` });

/** The names as those of headers that the document describes. */
export const headerNamesOf = (given: readonly string[]): HeaderName[] =>
  given.map((name) => {
    if (!(name in headers)) throw new Error(`expected the name of a header, got ${name}`);
    return name as HeaderName;
  });

/** Headers of a response. */
export const headersOf = (present: readonly HeaderName[], optional: readonly HeaderName[] = []): Json =>
  Object.fromEntries([
    ...present.map((name) => [name, { required: true, ...headers[name] }]),
    ...optional.map((name) => [name, headers[name]]),
  ]);

/** Problems that ask for another try after a time. */
const retryLater: readonly ProblemCode[] = ["rate_limited", "quota_exceeded", "queue_full", "unavailable"];

/** The response for problems of one status. */
function problemResponse(codes: readonly ProblemCode[]): Json {
  const titles = codes.map((code) => `\`${code}\``).join(" or ");
  return {
    description: `${titles}: ${[...new Set(codes.map((code) => problemCodes[code].title))].join(", ")}.`,
    headers: headersOf(
      [
        "X-Correlation-Id",
        "Cache-Control",
        ...(codes.includes("unauthenticated") ? (["WWW-Authenticate"] as const) : []),
        ...(codes.every((code) => retryLater.includes(code)) ? (["Retry-After"] as const) : []),
      ],
      codes.includes("conflict") ? ["Retry-After"] : [],
    ),
    // One schema for all: a schema of its own for each list of codes would be a class of its own in generated clients.
    content: { "application/problem+json": { schema: refOf(problem) } },
    "x-codes": codes,
  };
}

/** Responses for problems, by their names in the document. Routes with the same problems share them. */
export class ProblemResponses {
  readonly parts: Record<string, Json> = {};

  /** Returns the responses for the problems of a route, by status. */
  of(codes: readonly ProblemCode[]): Record<number, Json> {
    const statuses = new Set(codes.map((code) => problemCodes[code].status));
    const responses = [...statuses].map((status) => {
      const own = [...new Set(codes)].filter((code) => problemCodes[code].status === status).sort();
      const name = own.join("_or_");
      this.parts[name] ??= problemResponse(own);
      return [status, { $ref: `#/components/responses/${name}` }];
    });
    return Object.fromEntries(responses);
  }
}
