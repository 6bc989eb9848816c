import { describe, expect, test } from "vitest";
import { z } from "zod";
import { isPassingName } from "../../../src/aws/errors.ts";
import { AwsError } from "../../../src/aws/lean/aws-error.ts";
import { pauseAfter } from "../../../src/aws/lean/retries.ts";
import { awsThrottles, awsTimeouts } from "../../../src/core/model/aws-errors.ts";
import { classify, parseRetryAfter } from "../../../src/core/model/classify.ts";
import {
  AttemptCrashed,
  AttemptTimedOut,
  BusinessRuleViolation,
  errorKinds,
  InvalidInput,
  PermanentError,
  PortUnavailable,
  RetryAfter,
  Unavailable,
} from "../../../src/core/model/errors.ts";
import fc from "../../support/fast-check.ts";

const now = Date.UTC(2027, 0, 1);
const classified = (error: unknown) => classify(error, [], now);

/** An error as a library throws it: with a name, a code or more. */
const errorWith = (fields: object, message = "no") => Object.assign(new Error(message), fields);

describe("Offload's own errors", () => {
  test.each([
    [new PermanentError("closed"), "permanent"],
    [new BusinessRuleViolation("over the limit"), "business_rule"],
    [new InvalidInput("input.a: missing"), "validation"],
    [new RetryAfter(20), "rate_limited"],
    [new Unavailable("down"), "unavailable"],
    [new AttemptTimedOut("too long"), "timed_out"],
    [new AttemptCrashed("died"), "crashed"],
    [new PortUnavailable("the table"), "unavailable"],
  ])("%o is classified as %s", (error, kind) => {
    expect(classified(error)).toMatchObject({ kind, message: error.message, type: error.name });
  });

  test("RetryAfter keeps its whole seconds", () => {
    expect(classified(new RetryAfter(1.2)).retryAfterSeconds).toBe(2);
    expect(classified(new RetryAfter(-5)).retryAfterSeconds).toBe(0);
  });
});

describe("errors of the AWS SDK", () => {
  test.each([
    ["ConditionalCheckFailedException", 400, "conflict"],
    ["TransactionCanceledException", 400, "conflict"],
    ["ProvisionedThroughputExceededException", 400, "rate_limited"],
    ["ThrottlingException", 400, "rate_limited"],
    ["TooManyRequestsException", 429, "rate_limited"],
    ["ResourceNotFoundException", 400, "not_found"],
    ["NoSuchKey", 404, "not_found"],
    ["ValidationException", 400, "validation"],
    ["ServiceUnavailable", 503, "unavailable"],
    ["InternalServerError", 500, "transient"],
  ])("%s with status %i is %s", (name, httpStatusCode, kind) => {
    expect(classified(errorWith({ name, $metadata: { httpStatusCode } }))).toMatchObject({ kind, type: name });
  });
});

describe("errors of AWS, whose status is 400 for most", () => {
  const failed = (name: string, more: object = {}) => errorWith({ name, $metadata: { httpStatusCode: 400 }, ...more });

  test.each([
    ["RequestThrottledException", "rate_limited"],
    ["RequestThrottled", "rate_limited"],
    ["TransactionInProgressException", "rate_limited"],
    ["SlowDown", "rate_limited"],
    ["PriorRequestNotComplete", "rate_limited"],
    ["ServiceQuotaExceededException", "rate_limited"],
    ["RequestTimeout", "transient"],
    ["RequestTimeoutException", "transient"],
    ["ExpiredToken", "transient"],
    ["ExpiredTokenException", "transient"],
    ["UnrecognizedClientException", "transient"],
    ["CredentialsProviderError", "transient"],
    ["AccessDeniedException", "transient"],
    ["ReplicatedWriteConflictException", "conflict"],
    ["ValidationException", "validation"],
  ])("%s is %s", (name, kind) => {
    expect(classified(failed(name))).toMatchObject({ kind, type: name });
    expect(classified(new Error("outer", { cause: failed(name) })).kind).toBe(kind);
  });

  test.each([
    [{ throttling: true }, "rate_limited"],
    [{ throttling: false }, "transient"],
    [{}, "transient"],
  ])("with $retryable %j, an unknown name is %s", ($retryable, kind) => {
    expect(classified(failed("NewException", { $retryable })).kind).toBe(kind);
  });

  test("without it, an unknown name counts by its status", () => {
    expect(classified(failed("NewException")).kind).toBe("validation");
  });

  test.each([...awsThrottles, ...awsTimeouts])("after %s, Offload's own clients try again, too", (name) => {
    expect(pauseAfter(new AwsError(name, "no", { statusCode: 400, headers: {} }), 1)).toBeGreaterThanOrEqual(0);
    expect(isPassingName(name)).toBe(true);
  });
});

describe("what was thrown, in the record", () => {
  class PaymentDeclined extends Error {}
  const connection = (port: number) => errorWith({ code: "ECONNREFUSED" }, `connect ECONNREFUSED 127.0.0.1:${port}`);
  const refused = () => Object.assign(new AggregateError([connection(1), connection(2)]), { code: "ECONNREFUSED" });
  const axios = () =>
    errorWith({
      name: "AxiosError",
      config: { headers: { Authorization: "Bearer s3cret" } },
      request: { headers: "s3cret" },
      response: { status: 422, headers: { "set-cookie": "s3cret" }, data: { message: "s3cret" } },
    });

  test.each<[string, unknown, string, string]>([
    [
      "an object",
      { code: "E_DECLINED", reason: "no cover" },
      "E_DECLINED",
      '{ code: "E_DECLINED", reason: "no cover" }',
    ],
    ["an object with a message", { code: "E7", message: "no cover" }, "E7", "no cover"],
    ["null", null, "null", "null"],
    ["a number", 404, "number", "404"],
    ["a big integer", 5n, "bigint", "5"],
    ["a list", ["a", { reason: "b" }], "object", '{ 0: "a" }'],
    ["an error of an own class", new PaymentDeclined("no"), "PaymentDeclined", "no"],
    [
      "a connection's error",
      refused(),
      "ECONNREFUSED",
      "connect ECONNREFUSED 127.0.0.1:1; connect ECONNREFUSED 127.0.0.1:2",
    ],
    [
      "fetch with a connection's error",
      new TypeError("fetch failed", { cause: refused() }),
      "ECONNREFUSED",
      "fetch failed (connect ECONNREFUSED 127.0.0.1:1; connect ECONNREFUSED 127.0.0.1:2)",
    ],
    ["a cause that is a text", new Error("no", { cause: "the till is shut" }), "Error", "no (the till is shut)"],
    ["a cause that is an object", new Error("no", { cause: { reason: "shut" } }), "Error", 'no ({ reason: "shut" })'],
    [
      "a suppressed error",
      new SuppressedError(new Error("could not close"), new Error("could not write"), ""),
      "SuppressedError",
      "could not write; could not close",
    ],
  ])("%s", (_, thrown, type, message) => {
    expect(classified(thrown)).toMatchObject({ type, message });
  });

  test("of many errors in one, three are told", () => {
    const many = new AggregateError(
      Array.from({ length: 9 }, (_, n) => new Error(`no ${n}`)),
      "all failed",
    );
    expect(classified(many).message).toBe("all failed (no 0; no 1; no 2; and 6 more)");
  });

  test("errors in one error decide together, if all are of one kind", async () => {
    const any = (errors: unknown[]) =>
      Promise.any(errors.map((error) => Promise.reject(error))).catch((error: unknown) => classified(error));
    expect(await any([new RetryAfter(1), errorWith({ status: 429 })])).toMatchObject({ kind: "rate_limited" });
    expect(await any([errorWith({ status: 404 }), errorWith({ status: 404 })])).toMatchObject({ kind: "not_found" });
    expect(await any([errorWith({ status: 404 }), new Error("no")])).toMatchObject({ kind: "transient" });
    const suppressed = new SuppressedError(new Error("close"), new PermanentError("write"));
    expect(classified(suppressed).kind).toBe("permanent");
  });

  test.each<[string, unknown]>([
    ["axios", axios()],
    ["what axios's user throws on", { ...axios(), reason: "no" }],
    ["a cause", new Error("no", { cause: axios() })],
    ["an object with secrets", { password: "s3cret", apiKey: "s3cret", token: "s3cret", reason: "no" }],
    ["a response", { response: { headers: { a: "s3cret" }, config: { auth: "s3cret" } } }],
  ])("has no secret of %s", (_, thrown) => {
    expect(JSON.stringify(classified(thrown))).not.toContain("s3cret");
  });
});

describe("HTTP", () => {
  test.each([
    [400, "validation"],
    [401, "transient"],
    [403, "transient"],
    [404, "not_found"],
    [408, "transient"],
    [409, "conflict"],
    [422, "validation"],
    [429, "rate_limited"],
    [500, "transient"],
    [502, "transient"],
    [503, "unavailable"],
    [504, "transient"],
  ] as const)("%i is %s, however a client library reports it", (status, kind) => {
    const forms = [
      new Response(null, { status }),
      errorWith({ status }),
      errorWith({ statusCode: status }),
      errorWith({ response: { status } }),
      errorWith({ response: new Response(null, { status }) }),
      errorWith({ cause: errorWith({ status }) }),
    ];
    for (const form of forms) expect(classified(form).kind).toBe(kind);
  });

  test("a thrown Response of another copy of fetch is described by its status", () => {
    const response = { status: 503, statusText: "Service Unavailable", [Symbol.toStringTag]: "Response" };
    expect(classify(response, [], 0)).toMatchObject({ message: expect.stringContaining("Service Unavailable") });
  });

  test("a thrown Response is described by its status", () => {
    const response = new Response("secret", { status: 503, statusText: "Service Unavailable" });
    expect(classified(response)).toEqual({
      kind: "unavailable",
      message: "HTTP 503 Service Unavailable",
      type: "HTTP 503",
    });
  });

  test("a status that is not an HTTP failure is ignored", () => {
    for (const status of [0, 1, 200, 204, 600, Number.NaN])
      expect(classified(errorWith({ status })).kind).toBe("transient");
  });

  test.each([
    ["Headers", new Response(null, { status: 429, headers: { "Retry-After": "7" } })],
    [
      "Headers of another copy of fetch",
      {
        status: 429,
        headers: { get: (name: string) => (name === "retry-after" ? "7" : null), [Symbol.toStringTag]: "Headers" },
      },
    ],
    ["a plain object", errorWith({ status: 429, headers: { "Retry-After": "7" } })],
    ["a response within", errorWith({ response: { status: 429, headers: { "retry-after": 7 } } })],
    ["the SDK's response", errorWith({ name: "ThrottlingException", $response: { headers: { "retry-after": "7" } } })],
    [
      "a cause",
      new Error("the shop answered 429", {
        cause: new Response(null, { status: 429, headers: { "Retry-After": "7" } }),
      }),
    ],
  ])("Retry-After is read from %s", (_, error) => {
    expect(classified(error)).toMatchObject({ kind: "rate_limited", retryAfterSeconds: 7 });
  });
});

describe("Retry-After", () => {
  test.each([
    ["0", 0],
    ["120", 120],
    [" 120 ", 120],
    ["Fri, 01 Jan 2027 00:00:30 GMT", 30],
    ["Fri, 01 Jan 2027 00:00:00 GMT", 0],
    ["Thu, 31 Dec 2026 23:00:00 GMT", 0],
    ["999999999", 2_592_000],
    ["Fri, 01 Jan 2038 00:00:00 GMT", 2_592_000],
    ["-5", undefined],
    ["1.5", undefined],
    ["soon", undefined],
    ["", undefined],
    ["9999999999999999999999", undefined],
  ])("%j means %s s", (header, seconds) => {
    expect(parseRetryAfter(header, now)).toBe(seconds);
  });

  test("Retry-After is whole seconds of at most 30 days, or undefined", () => {
    const isWhole = (seconds: number) => Number.isInteger(seconds) && seconds >= 0 && seconds <= 2_592_000;
    const good = fc.oneof(
      fc.nat(999_999_999).map(String),
      fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(9e12) }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(good, (header) => {
        expect(parseRetryAfter(header, now)).toSatisfy(isWhole);
      }),
    );
    fc.assert(
      fc.property(fc.string(), (header) => {
        expect(parseRetryAfter(header, now) ?? 0).toSatisfy(isWhole);
      }),
    );
  });
});

describe("errors of the system", () => {
  test.each([
    ["ECONNREFUSED", "unavailable"],
    ["EHOSTUNREACH", "unavailable"],
    ["ECONNRESET", "transient"],
    ["ETIMEDOUT", "transient"],
    ["ENOTFOUND", "transient"],
    ["EPIPE", "transient"],
    ["UND_ERR_HEADERS_TIMEOUT", "transient"],
  ])("%s is %s, also as the cause of what fetch throws", (code, kind) => {
    const system = errorWith({ code, syscall: "connect" }, `connect ${code}`);
    const fetched = new TypeError("fetch failed", { cause: system });
    expect(classified(system)).toMatchObject({ kind, type: code });
    expect(classified(fetched)).toMatchObject({ kind, message: `fetch failed (connect ${code})`, type: code });
  });

  test("a time-out of AbortSignal is transient", () => {
    const error = new DOMException("The operation was aborted due to timeout", "TimeoutError");
    expect(classified(error)).toMatchObject({ kind: "transient", type: "TimeoutError" });
  });
});

test("the refusal of a schema is validation", () => {
  const { error } = z.object({ a: z.number() }).safeParse({});
  expect(classified(error).kind).toBe("validation");
});

describe("anything else that is thrown", () => {
  const circular: { cause?: unknown } = {};
  circular.cause = circular;
  const hostile = (message: string) => () => {
    throw new Error(message);
  };
  const trapped = new Proxy({}, { get: hostile("get"), has: hostile("has"), ownKeys: hostile("ownKeys") });
  const getters = Object.defineProperties(new Error("kept"), {
    code: { get: hostile("code") },
    status: { get: hostile("status") },
    cause: { get: hostile("cause") },
    headers: { get: hostile("headers") },
    name: { get: hostile("name") },
  });

  test.each([
    ["a string", "no luck", "no luck", "string"],
    ["an empty string", "", "", "string"],
    ["a number", 7, "7", "number"],
    ["undefined", undefined, "undefined", "undefined"],
    ["null", null, "null", "null"],
    ["a symbol", Symbol("s"), "Symbol(s)", "symbol"],
    ["a function", () => {}, "function", "function"],
    ["an object without a prototype", Object.create(null), "object", "object"],
    ["an object that is its own cause", circular, "object", "object"],
    ["a proxy whose every look throws", trapped, "object", "object"],
    ["an error whose getters throw", getters, "kept", "Error"],
    ["an error whose message is no text", errorWith({ message: 7 }), "Error", "Error"],
    ["an error without a message", new Error(), "Error", "Error"],
  ])("%s is transient", (_, thrown, message, type) => {
    expect(classified(thrown)).toEqual({ kind: "transient", message, type });
  });

  const revoked = Proxy.revocable({}, {});
  revoked.revoke();

  test.each([
    ["a revoked proxy", revoked.proxy],
    ["a proxy that hides its prototype", new Proxy({}, { getPrototypeOf: hostile("getPrototypeOf") })],
    [
      "headers whose members throw",
      { headers: Object.defineProperty({}, "x", { enumerable: true, get: hostile("x") }) },
    ],
    ["headers that cannot be listed", { headers: trapped }],
    ["a proxy of a Response", new Proxy(new Response(null, { status: 404 }), {})],
    ["a proxy of headers", { headers: new Proxy(new Headers(), {}) }],
  ])("%s is transient", (_, thrown) => {
    expect(classified(thrown)).toMatchObject({ kind: "transient" });
  });

  test("any value gets a kind, a message and a type of bounded length", () => {
    const long = fc.string({ minLength: 900, maxLength: 1200 });
    const errors = fc
      .record({ message: long, name: long, code: fc.anything(), status: fc.anything(), cause: fc.anything() })
      .map((fields) => errorWith(fields));
    fc.assert(
      fc.property(fc.oneof(fc.anything({ withNullPrototype: true }), errors), (thrown) => {
        const { kind, message, type } = classified(thrown);
        expect(errorKinds).toContain(kind);
        expect(message.length).toBeLessThanOrEqual(1000);
        expect(type.length).toBeLessThanOrEqual(128);
        expect(type.length).toBeGreaterThan(0);
      }),
    );
  });

  test("a text that is cut within a character has no lone surrogate", () => {
    const { message } = classified(new Error(`x${"🧾".repeat(600)}`));
    expect(message).toBe(`x${"🧾".repeat(499)}\ufffd`);
    expect(classified(new Error("a\ud800")).message).toBe("a\ufffd");
  });
});

describe("causes", () => {
  test("the nearest cause that has a meaning decides", () => {
    const inner = errorWith({ status: 404 });
    const middle = errorWith({ code: "ECONNREFUSED", cause: inner });
    expect(classified(new Error("outer", { cause: middle }))).toMatchObject({
      kind: "unavailable",
      message: "outer (no)",
    });
  });

  test("an error of Offload within another error keeps its meaning", () => {
    expect(classified(new Error("outer", { cause: new PermanentError("inner") })).kind).toBe("permanent");
  });

  test("causes are followed at most four levels deep", () => {
    const nest = (levels: number): unknown =>
      levels === 0 ? errorWith({ status: 404 }) : new Error("outer", { cause: nest(levels - 1) });
    expect(classified(nest(4)).kind).toBe("not_found");
    expect(classified(nest(5)).kind).toBe("transient");
  });
});

describe("a type's own rules", () => {
  const isBoring = (error: unknown) => (error instanceof RangeError ? ("permanent" as const) : undefined);

  test("a type's rules come before the common ones", () => {
    const rule = () => "business_rule" as const;
    expect(classify(new PermanentError("x"), [rule], now).kind).toBe("business_rule");
  });

  test("a rule that returns undefined leaves the decision to the next rule, then to the common ones", () => {
    const rules = [() => undefined, isBoring];
    expect(classify(new RangeError("x"), rules, now).kind).toBe("permanent");
    expect(classify(errorWith({ status: 404 }), rules, now).kind).toBe("not_found");
  });

  test("a rule that throws is ignored", () => {
    const broken = () => {
      throw new Error("broken rule");
    };
    expect(classify(new RangeError("x"), [broken, isBoring], now)).toMatchObject({ kind: "permanent", message: "x" });
  });

  test("a rule decides the kind, while Retry-After stays as the server sent it", () => {
    const error = errorWith({ status: 429, headers: { "retry-after": "9" } });
    expect(classify(error, [() => "transient"], now)).toMatchObject({ kind: "transient", retryAfterSeconds: 9 });
  });
});
