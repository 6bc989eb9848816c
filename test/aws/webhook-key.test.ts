import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parameterKey, webhookKeyOf } from "../../src/aws/webhook-key.ts";
import { PortUnavailable } from "../../src/core/model/errors.ts";
import { FakeClock } from "../../src/memory/clock.ts";

type Input = Record<string, unknown>;

/** Calls that the stub of Parameter Store got. */
let calls: { operation: string; input: Input }[] = [];
/** The stored parameters. */
let stored = new Map<string, string>();
/** Changes an answer before it is sent. Undefined: no change. */
let instead: (operation: string, input: Input) => { status: number; answer: object } | undefined = () => undefined;

const refusal = (code: string) => ({ status: 400, answer: { __type: code, message: "no" } });

function answerTo(operation: string, { Name, Value }: Input): { status: number; answer: object } {
  const name = String(Name);
  if (operation === "GetParameter") {
    const found = stored.get(name);
    return found === undefined
      ? refusal("ParameterNotFound")
      : { status: 200, answer: { Parameter: { Value: found } } };
  }
  if (stored.has(name)) return refusal("ParameterAlreadyExists");
  stored.set(name, String(Value));
  return { status: 200, answer: { Version: 1 } };
}

const server = createServer(async (request, response) => {
  const operation = String(request.headers["x-amz-target"]).replace("AmazonSSM.", "");
  const input = JSON.parse(await text(request)) as Input;
  calls.push({ operation, input });
  const { status, answer } = instead(operation, input) ?? answerTo(operation, input);
  response.writeHead(status, { "content-type": "application/x-amz-json-1.1" }).end(JSON.stringify(answer));
});

const variables = ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL_SSM"];
const before = new Map(variables.map((name) => [name, process.env[name]]));

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  for (const name of variables) process.env[name] = "eu-west-1";
  process.env.AWS_ENDPOINT_URL_SSM = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

const name = "/offload/dev/webhook-key";
const key = Buffer.alloc(32, 7);
let clock: FakeClock;
beforeEach(() => {
  calls = [];
  stored = new Map();
  instead = () => undefined;
  clock = new FakeClock();
});
const operations = () => calls.map(({ operation }) => operation);

describe("the parameter", () => {
  test("a stored key is read decrypted", async () => {
    stored.set(name, key.toString("base64"));
    expect(await parameterKey(name, clock).read()).toEqual(key);
    expect(calls).toEqual([{ operation: "GetParameter", input: { Name: name, WithDecryption: true } }]);
  });

  test("the first read creates an encrypted key without overwriting one, and reads it again", async () => {
    const made = await parameterKey(name, clock).read();
    expect(operations()).toEqual(["GetParameter", "PutParameter", "GetParameter"]);
    expect(calls[1]?.input).toEqual({
      Name: name,
      Value: Buffer.from(made).toString("base64"),
      Type: "SecureString",
      Overwrite: false,
      Description: expect.any(String),
    });
    expect(made).toHaveLength(32);
    expect(await parameterKey(name, clock).read()).toEqual(made);
  });

  test("processes that create the key at the same time have the same key", async () => {
    const made = await Promise.all(Array.from({ length: 10 }, () => parameterKey(name, clock).read()));
    expect(new Set(made.map((each) => Buffer.from(each).toString("base64")))).toEqual(new Set([stored.get(name)]));
  });

  test("a key that is not shown yet after its creation makes the store unavailable", async () => {
    instead = (operation) => (operation === "GetParameter" ? refusal("ParameterNotFound") : undefined);
    await expect(parameterKey(name, clock).read()).rejects.toBeInstanceOf(PortUnavailable);
  });

  test("a parameter that is not a key is an error, which does not contain its value", async () => {
    stored.set(name, "something-else");
    await expect(parameterKey(name, clock).read()).rejects.toThrow(
      /^the parameter \/offload\/dev\/webhook-key is not a key for webhooks: expected 32 bytes as base64$/,
    );
    expect(operations()).toEqual(["GetParameter"]);
  });

  test("a missing permission is not a key that is missing", async () => {
    instead = () => refusal("AccessDeniedException");
    await expect(parameterKey(name, clock).read()).rejects.toMatchObject({ name: "AccessDeniedException" });
    expect(operations()).toEqual(["GetParameter"]);
  });
});

describe("reads of one process", () => {
  test("a key is read again after 60 seconds", async () => {
    stored.set(name, key.toString("base64"));
    const webhookKey = parameterKey(name, clock);
    await webhookKey.read();
    await clock.advance(59_999);
    await webhookKey.read();
    expect(calls).toHaveLength(1);
    stored.set(name, Buffer.alloc(32, 8).toString("base64"));
    await clock.advance(1);
    expect(await webhookKey.read()).toEqual(Buffer.alloc(32, 8));
    expect(calls).toHaveLength(2);
  });

  test("reads at the same time share one call", async () => {
    stored.set(name, key.toString("base64"));
    const webhookKey = parameterKey(name, clock);
    expect(await Promise.all([webhookKey.read(), webhookKey.read(), webhookKey.read()])).toEqual([key, key, key]);
    expect(calls).toHaveLength(1);
  });

  test("a failure is not kept, and a later try can succeed", async () => {
    stored.set(name, key.toString("base64"));
    instead = () => refusal("AccessDeniedException");
    const webhookKey = parameterKey(name, clock);
    await expect(webhookKey.read()).rejects.toThrow();
    instead = () => undefined;
    expect(await webhookKey.read()).toEqual(key);
  });
});

describe("settings", () => {
  test("a key in the settings needs no parameter", async () => {
    const settings = { webhookKey: key.toString("base64"), webhookKeyName: name };
    expect(await webhookKeyOf(settings, clock).read()).toEqual(key);
    expect(calls).toEqual([]);
  });

  test("the name of a parameter is enough", async () => {
    stored.set(name, key.toString("base64"));
    expect(await webhookKeyOf({ webhookKey: undefined, webhookKeyName: name }, clock).read()).toEqual(key);
  });

  test("a wrong key names the variable, and not the key", () => {
    expect(() => webhookKeyOf({ webhookKey: "short", webhookKeyName: undefined }, clock)).toThrow(
      /^OFFLOAD_WEBHOOK_KEY: expected 32 bytes as base64$/,
    );
  });

  test("no setting at all is an error", () => {
    expect(() => webhookKeyOf({ webhookKey: undefined, webhookKeyName: undefined }, clock)).toThrow(
      "OFFLOAD_WEBHOOK_KEY_NAME",
    );
  });
});
