import { describe, expect, test } from "vitest";
import { ifConditionHolds, isNamed, viaPort } from "../../src/aws/errors.ts";
import { AwsError } from "../../src/aws/lean/aws-error.ts";
import { pauseAfter } from "../../src/aws/lean/retries.ts";
import { Tries } from "../../src/aws/lean/tries.ts";
import { awsThrottles, awsTimeouts, brokenConnections } from "../../src/core/model/aws-errors.ts";
import { classify } from "../../src/core/model/classify.ts";
import { PortUnavailable } from "../../src/core/model/errors.ts";

/** An error as the AWS SDK throws it. */
const sdk = (name: string, more: object = {}) =>
  Object.assign(new Error(`${name}: no`), { name, $fault: "client", ...more });

const thrownBy = (error: unknown) => viaPort("the table", Promise.reject(error)).catch((thrown: unknown) => thrown);

describe("a call through a port", () => {
  test("a call returns what the service returns", async () => {
    expect(await viaPort("the table", Promise.resolve({ Item: 1 }))).toEqual({ Item: 1 });
  });

  test.each([
    ["a throttle", sdk("ThrottlingException")],
    ["a table that is throttled", sdk("ProvisionedThroughputExceededException")],
    ["a queue that is throttled", sdk("RequestThrottled")],
    ["a fault of the service", sdk("InternalServerError", { $fault: "server" })],
    ["a fault without a name of its own", sdk("UnknownError", { $fault: "server" })],
    ["an error that the SDK would try again", sdk("Odd", { $retryable: {} })],
    ["a time-out", sdk("TimeoutError", { $fault: undefined })],
    ["a refused connection", Object.assign(new Error("connect"), { code: "ECONNREFUSED" })],
    ["a lost connection", Object.assign(new Error("read"), { code: "ECONNRESET" })],
    ["a network that is not reached", Object.assign(new Error("net"), { code: "ENETUNREACH" })],
    ["a host that is not reached", Object.assign(new Error("host"), { code: "EHOSTUNREACH" })],
    ["a 429 without a name", sdk("UnknownError", { $metadata: { httpStatusCode: 429 } })],
    ["a name that is not found", Object.assign(new Error("dns"), { code: "ENOTFOUND" })],
  ])("a call that fails by %s is unavailable, with the cause", async (_, error) => {
    const thrown = await thrownBy(error);
    expect(thrown).toBeInstanceOf(PortUnavailable);
    expect(thrown).toMatchObject({ message: "the table is unavailable", cause: error });
    expect(classify(thrown, [], 0).kind).toBe("unavailable");
  });

  test.each([
    ["a condition that failed", sdk("ConditionalCheckFailedException")],
    ["a request that is wrong", sdk("ValidationException")],
    ["a right that is missing", sdk("AccessDeniedException")],
    ["a table that is not there", sdk("ResourceNotFoundException")],
    ["a bug", new TypeError("undefined is not a function")],
    ["what is no error", "text"],
  ])("a call that fails by %s throws the same error", async (_, error) => {
    expect(await thrownBy(error)).toBe(error);
  });
});

test("every error after which the small clients try again is unavailable in the end, and no mistake of the code", async () => {
  const named = [...awsThrottles, ...awsTimeouts].map(
    (name) => new AwsError(name, "no", { statusCode: 400, headers: {} }),
  );
  const coded = brokenConnections.map((code) => Object.assign(new Error(code), { code }));
  const bare = [429, 500, 503].map((statusCode) => new AwsError("UnknownError", "no", { statusCode, headers: {} }));
  for (const error of [...named, ...coded, ...bare]) {
    expect(pauseAfter(error, 1), String(error)).toBeGreaterThanOrEqual(0);
    expect(await thrownBy(error), String(error)).toBeInstanceOf(PortUnavailable);
  }
});

test("a wait is as long as the answer asks for", () => {
  const asked = new AwsError("ThrottlingException", "no", { statusCode: 400, headers: { "retry-after": "7" } });
  expect(pauseAfter(asked, 1)).toBe(7_000);
});

test("a client that fails all the time stops trying again, and begins again when calls succeed", async () => {
  const tries = new Tries(2);
  let sent = 0;
  const failing = () => {
    sent += 1;
    return Promise.reject(new AwsError("InternalServerError", "no", { statusCode: 500, headers: {} }));
  };
  const fail = async (calls: number) => {
    sent = 0;
    await Promise.allSettled(Array.from({ length: calls }, () => tries.run(failing)));
    return sent - calls;
  };
  expect(await fail(120)).toBe(100);
  for (let calls = 0; calls < 5; calls++) await tries.run(async () => "answer");
  expect(await fail(3)).toBe(1);
});

describe("a conditional write", () => {
  test("returns what the service returns, also when that is empty", async () => {
    expect(await ifConditionHolds("the table", Promise.resolve({}))).toEqual({});
  });

  test("returns undefined when its condition did not hold", async () => {
    const write = Promise.reject(sdk("ConditionalCheckFailedException"));
    expect(await ifConditionHolds("the table", write)).toBeUndefined();
  });

  test("throws any other error as a call through a port does", async () => {
    const denied = sdk("AccessDeniedException");
    await expect(ifConditionHolds("the table", Promise.reject(denied))).rejects.toBe(denied);
    const throttled = Promise.reject(sdk("ThrottlingException"));
    await expect(ifConditionHolds("the table", throttled)).rejects.toBeInstanceOf(PortUnavailable);
  });
});

test("isNamed compares the names of errors only", () => {
  expect(isNamed(sdk("ConflictException"), "ConflictException")).toBe(true);
  expect(isNamed(sdk("ConflictException"), "Other")).toBe(false);
  expect(isNamed({ name: "ConflictException" }, "ConflictException")).toBe(false);
  expect(isNamed(undefined, "undefined")).toBe(false);
});
