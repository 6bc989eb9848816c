import { routes } from "../../../src/api/http/routes.ts";
import fc from "../../support/fast-check.ts";

/*
 * Requests that nobody would send by accident, for the whole API. What is only known when a request is made has a
 * placeholder: `@secret@` is what the caller alone knows, `~7~` is an id or a cursor that somebody was given.
 */

/** Two tenants, each with an operator and a submitter, as the local server's keys. */
export const localKeys =
  "acme-op:acme:operator,acme-sub:acme:submitter,globex-op:globex:operator,globex-sub:globex:submitter";

/** The tenant whose key a token is. */
export const tenantOf = (token: string): string | undefined => /^(acme|globex)-(op|sub)$/.exec(token)?.[1];

export const secretOf = (tenant: string | undefined): string => `secret-of-${tenant ?? "nobody"}`;

export interface HostileRequest {
  method: string;
  path: string;
  query: string;
  headers: Record<string, string>;
  token: string;
  body: string;
  /** Whether the gateway hands the body over as Base64. */
  binary: boolean;
}

/** Puts in what is only known now. */
export function filled(request: HostileRequest, ids: readonly string[]): HostileRequest {
  const fill = (value: string) =>
    value
      .replaceAll("@secret@", secretOf(tenantOf(request.token)))
      .replaceAll(/~(\d+)~/g, (_, index) => ids[Number(index) % ids.length] ?? "none");
  return { ...request, path: fill(request.path), query: fill(request.query), body: fill(request.body) };
}

const weird = fc.constantFrom(
  ...["", "..", "%2e%2e%2f", "%00", "%zz", "%F0%9F%92%A5", "__proto__", "constructor", "null", "-1", "0", "1e309"],
  ...["toString", "hasOwnProperty", "valueOf", "prototype"],
  ...["acme", "globex", "task#acme#1", "' OR 1=1 --", "{{7*7}}", "\u0000", "\r\nx-injected: 1", "💥"],
  ...["9".repeat(400), "a".repeat(5_000)],
);

/** A text that may be anything. */
const text = fc.oneof(weird, fc.string({ maxLength: 12 }), fc.constant("@secret@"));

/** Times at the edges of the calendar. In UTC, some are outside of the years 0000 to 9999. */
const edgeTime = fc.constantFrom(
  ...["9999-12-31T23:59:59-23:00", "9999-12-31T23:59:59.999Z", "9998-12-31T23:59:59Z", "2027-01-01T00:00:00+23:59"],
  ...["0000-01-01T00:00:00+23:00", "0000-01-01T00:00:00Z", "2024-02-29T23:59:59.999999999Z", "2027-02-30T00:00:00Z"],
  ...["+010000-01-01T00:00:00Z", "-000001-01-01T00:00:00Z", "2016-12-31T23:59:60Z"],
);
const time = fc.oneof(edgeTime, text);

/** Names of tags. Objects inherit some of these names. */
const tagName = fc.constantFrom("a", "b", "A B", "constructor", "tostring", "hasownproperty", "__proto__", "pk");

const givenId = fc.nat(10_000).map((index) => `~${index}~`);
const id = fc.oneof({ weight: 5, arbitrary: givenId }, fc.uuid(), weird);

const json = fc.jsonValue({ maxDepth: 4 });
const plainTask = fc.record({
  type: fc.constantFrom("any", "broken"),
  input: fc.constant({ value: "@secret@" }),
  tags: fc.constant({ a: "@secret@" }),
});
const oddTask = fc.record(
  {
    type: fc.oneof({ weight: 8, arbitrary: fc.constantFrom("echo", "any", "broken") }, text),
    input: fc.oneof({ weight: 4, arbitrary: fc.constant({ value: "@secret@" }) }, json, text),
    priority: fc.oneof(fc.constantFrom("critical", "high", "normal", "low"), text),
    delay_seconds: fc.oneof(fc.nat(2_000), fc.integer(), text),
    run_at: time,
    max_attempts: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.double()),
    expires_in_seconds: fc.integer({ min: -1, max: 100 }),
    retention_seconds: fc.oneof(fc.constant(60), fc.integer()),
    tags: fc.oneof(fc.dictionary(tagName, text, { maxKeys: 3 }), json),
  },
  { requiredKeys: ["type", "input"] },
);
const plainSchedule = fc.record({
  name: fc.nat(50).map((number) => `schedule-${number}`),
  cron: fc.constantFrom("0 * * * *", "*/5 9-17 * * MON-FRI"),
  task: plainTask,
});
const oddSchedule = fc.record(
  {
    name: fc.oneof(fc.constant("daily"), text),
    cron: fc.oneof(fc.constant("0 2 * * *"), text),
    every_seconds: fc.oneof(fc.constant(60), fc.integer()),
    timezone: fc.oneof(fc.constant("Europe/Berlin"), text),
    starts_at: time,
    ends_at: time,
    from: time,
    enabled: fc.boolean(),
    overlap: fc.oneof(fc.constantFrom("allow", "skip"), text),
    task: fc.oneof(plainTask, oddTask),
  },
  { requiredKeys: [] },
);
const timedSchedule = fc.record({
  name: fc.nat(50).map((number) => `timed-${number}`),
  every_seconds: fc.constantFrom(60, 86_400),
  starts_at: edgeTime,
  task: plainTask,
});
const preview = fc.record(
  { every_seconds: fc.constantFrom(60, 31_536_000), starts_at: edgeTime, ends_at: edgeTime, from: edgeTime },
  { requiredKeys: ["every_seconds"] },
);
const action = fc.record(
  {
    task_ids: fc.array(fc.oneof(givenId, fc.uuid(), text), { maxLength: 3 }),
    filter: fc.oneof(fc.constant({}), fc.record({ type: text }), json),
    dry_run: fc.oneof(fc.boolean(), json),
    per_second: fc.oneof(fc.constant(100), json),
  },
  { requiredKeys: [] },
);

/** Numbers that a double holds, does not hold, or rounds. */
const numbers = [
  ...["1e400", "-1e400", "1e-400", "12345678901234567890", "9007199254740993", "9007199254740992", "-0", "1e20"],
  ...["0.1234567890123456789", "9".repeat(400), "3.0"],
];

const asJson = (value: unknown) => JSON.stringify(value);
const oddBody = fc.oneof(
  fc.oneof(oddTask, oddSchedule, action, json).map(asJson),
  fc.constantFrom("", "{", "[]", "null", '{"__proto__":{"role":"admin"}}', '{"type":"echo","type":"any"}', "\ufeff{}"),
  fc.constant(`{"a":${"[".repeat(2_000)}${"]".repeat(2_000)}}`),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(...numbers).map((number) => `{"type":"any","input":{"value":[${number}]}}`),
  fc.constantFrom(...numbers).map((number) => `{"type":"any","input":1,"max_attempts":${number}}`),
);
const hugeBody = fc.constantFrom(`{"type":"any","input":"${"x".repeat(60_000)}"}`, "x".repeat(1_100_000));

/** What honest clients send to a route. */
function fittingBody(method: string, path: string): fc.Arbitrary<string> {
  if (method === "GET" || method === "DELETE") return fc.constant("");
  if (path === "/tasks") return plainTask.map(asJson);
  if (path === "/schedules") return fc.oneof(plainSchedule, timedSchedule).map(asJson);
  if (path === "/schedules/preview") return preview.map(asJson);
  if (path.startsWith("/dead-letters")) return fc.constantFrom('{"filter":{}}', '{"filter":{},"dry_run":true}');
  return fc.constantFrom("", "{}", '{"retention_seconds":3600}', '{"enabled":false}');
}

const parameter = fc
  .tuple(
    fc.constantFrom(
      ...["limit", "cursor", "status", "type", "priority", "tag.a", "tag.", "created_after", "tenant", "count", "x"],
      ...["failed_after", "failed_before", "created_before", "error_kind"],
      ...["tag.constructor", "tag.__proto__", "tag.toString", "__proto__", "constructor"],
    ),
    fc.oneof(
      fc.oneof(text, fc.string({ unit: "binary", maxLength: 5 })).map(encodeURIComponent),
      givenId,
      edgeTime.map(encodeURIComponent),
      fc.constantFrom("1", "100", "101", "failed", "low", "2027-01-01", "2027-01-01T00:00:00Z", "acme", "globex", "%"),
    ),
  )
  .map((pair) => pair.join("="));
const query = fc.oneof(
  { weight: 2, arbitrary: fc.constant("") },
  fc.array(parameter, { maxLength: 3 }).map((all) => all.join("&")),
);

/** Printable ASCII, as HTTP lets it through. */
const headerText = fc.oneof(
  fc.string({ unit: "grapheme-ascii", maxLength: 30 }).map((value) => value.trim()),
  fc.constantFrom("*", '"a"', 'W/"b"', "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "x".repeat(8_000)),
);
const headers = fc.record(
  {
    "content-type": fc.oneof(
      { weight: 12, arbitrary: fc.constant("application/json") },
      fc.constantFrom("text/plain", "application/json; charset=utf-16"),
      headerText,
    ),
    "idempotency-key": fc.oneof(fc.constantFrom("shared-1", "shared-2"), headerText),
    "x-correlation-id": headerText,
    traceparent: headerText,
    "if-none-match": headerText,
    "content-length": fc.constantFrom("0", "5", "99999999", "-1", "x"),
    "x-forwarded-for": headerText,
    "x-http-method-override": fc.constant("DELETE"),
    cookie: headerText,
  },
  { requiredKeys: ["content-type"] },
);
const token = fc.oneof(
  { weight: 14, arbitrary: fc.constantFrom("acme-op", "acme-sub", "globex-op", "globex-sub") },
  fc.constantFrom("", "acme-op2", "ofl_abcdefgh_0123456789012345678901234567", "eyJhbGciOiJub25lIn0.e30.", "ACME-OP"),
  headerText.map((value) => value.replaceAll(" ", "")),
);

const whereKnown = fc
  .tuple(fc.constantFrom(...routes), id, oddBody, fc.nat(9))
  .chain(([{ method, path }, one, odd, dice]) =>
    (dice < 6 ? fittingBody(method, path) : dice < 9 ? fc.constant(odd) : hugeBody).map((body) => ({
      method,
      path: path.replace(/\{(\w+)\}/, (_, name) => (name === "type" && dice % 2 === 0 ? "any" : one)),
      body,
    })),
  );
const whereOdd = fc.record({
  method: fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW"),
  path: fc.oneof(
    whereKnown.map(({ path }) => path),
    fc.array(text, { maxLength: 5 }).map((steps) => `/${steps.map(encodeURIComponent).join("/")}`),
    fc.constantFrom(
      "/",
      "//",
      "/tasks/",
      "/tasks//cancel",
      "/../tasks",
      "/tasks/../queues",
      "/TASKS",
      "/%",
      "/tasks%2f",
    ),
  ),
  body: oddBody,
});

export const hostileRequest: fc.Arbitrary<HostileRequest> = fc
  .record({
    where: fc.oneof({ weight: 5, arbitrary: whereKnown }, whereOdd),
    query,
    headers,
    token,
    binary: fc.boolean(),
  })
  .map(({ where, ...rest }) => ({ ...where, ...rest }));
