import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Log } from "../../../src/core/ports/tasks.ts";
import type { SecretSource } from "../../../src/core/task/environment.ts";
import { type Secrets, secretLoader, UnexpectedSecret, withSecrets } from "../../../src/core/task/secrets.ts";
import { defineTask } from "../../../src/core/task/task.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { testKit } from "../../../src/testkit/kit.ts";

/** A store of secrets in memory, and a loader of variables over it. */
function setUp(secrets: Secrets, stored: Record<string, string | Error>) {
  const clock = new FakeClock(0);
  const reads: string[] = [];
  const lines: string[] = [];
  const write = (level: string) => (message: string, fields?: object) =>
    lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const log = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  const env: Record<string, string | undefined> = {};
  const read = async (source: SecretSource): Promise<string> => {
    const place = "parameterName" in source ? source.parameterName : source.secretName;
    reads.push(place);
    const found = stored[place];
    if (found instanceof Error) throw found;
    return found ?? "";
  };
  const load = secretLoader({ clock, log: log as unknown as Log, reader: { read }, env }, secrets);
  return { clock, reads, lines, env, stored, load };
}

const denied = () => Object.assign(new Error("arn:aws:sts::123456789012:x may not"), { name: "AccessDeniedException" });

const stripe = { STRIPE_KEY: { secretName: "prod/stripe" } };

describe("secrets as variables", () => {
  test("secrets and parameters become variables, and two fields of one secret are one read", async () => {
    const { env, reads, load } = setUp(
      {
        ...stripe,
        DB_USER: { secretName: "db", field: "user" },
        DB_PORT: { secretName: "db", field: "port" },
        MAIL_KEY: { parameterName: "/mail" },
      },
      { "prod/stripe": "sk_1", db: '{"user":"ada","port":5432}', "/mail": "m" },
    );
    await load();
    expect(env).toEqual({ STRIPE_KEY: "sk_1", DB_USER: "ada", DB_PORT: "5432", MAIL_KEY: "m" });
    expect(reads.sort()).toEqual(["/mail", "db", "prod/stripe"]);
  });

  test("attempts that start together share one read, and later ones read again only after five minutes", async () => {
    const { clock, env, reads, stored, load } = setUp(stripe, { "prod/stripe": "sk_1" });
    await Promise.all([load(), load(), load()]);
    await clock.advance(299_999);
    await load();
    expect(reads).toHaveLength(1);
    stored["prod/stripe"] = "sk_2";
    await clock.advance(1);
    await load();
    expect([reads.length, env.STRIPE_KEY]).toEqual([2, "sk_2"]);
  });

  test("a failed refresh keeps the last value, and is tried again after half a minute", async () => {
    const { clock, env, lines, reads, stored, load } = setUp(stripe, { "prod/stripe": "sk_1" });
    await load();
    stored["prod/stripe"] = denied();
    await clock.advance(300_000);
    await load();
    await load();
    expect([reads.length, env.STRIPE_KEY]).toEqual([2, "sk_1"]);
    expect(lines).toEqual([expect.stringMatching(/^warn could not refresh a secret.*prod\/stripe.*AccessDenied/)]);
    stored["prod/stripe"] = "sk_2";
    await clock.advance(30_000);
    await load();
    expect(env.STRIPE_KEY).toBe("sk_2");
  });

  test.each([
    [
      "a refusal",
      stripe,
      { "prod/stripe": denied() },
      "the secret prod/stripe for the variable STRIPE_KEY could not be read: AccessDeniedException",
    ],
    [
      "no connection",
      stripe,
      { "prod/stripe": Object.assign(new Error("connect 10.0.0.1"), { code: "ECONNREFUSED" }) },
      "could not be read: ECONNREFUSED",
    ],
    [
      "a text that is not JSON",
      { DB_KEY: { secretName: "db", field: "password" } },
      { db: "hunter2" },
      "the secret db for the variable DB_KEY could not be read: it is not a JSON object with a text in the field password",
    ],
    [
      "a field that is absent",
      { DB_KEY: { secretName: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbCdEf", field: "key" } },
      { "arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbCdEf": '{"password":"hunter2"}' },
      "the secret db-AbCdEf for the variable DB_KEY could not be read: it is not a JSON object with a text in the field key",
    ],
    [
      "bytes",
      stripe,
      { "prod/stripe": new UnexpectedSecret("it is not a text") },
      "could not be read: it is not a text",
    ],
  ] as [string, Secrets, Record<string, string | Error>, string][])(
    "after %s the error and the log line name the secret, and neither its value nor the account",
    async (_, secrets, stored, message) => {
      const { lines, load } = setUp(secrets, stored);
      const error = await load().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        name: "SecretUnreadable",
        kind: "transient",
        message: expect.stringContaining(message),
      });
      expect(lines).toHaveLength(1);
      expect(`${error} ${lines}`).not.toMatch(/hunter2|123456789012|10\.0\.0\.1/);
    },
  );
});

test("an attempt whose secret cannot be read fails as transient, and the next attempt reads it again", async () => {
  const { env, stored, load } = setUp(stripe, { "prod/stripe": denied() });
  const charge = defineTask({
    name: "charge",
    input: z.null(),
    handler: () => (env.STRIPE_KEY === "sk_1" ? "paid" : "?"),
  });
  const [waiting] = withSecrets([charge], async () => {
    await load().finally(() => {
      stored["prod/stripe"] = "sk_1";
    });
  });
  if (waiting === undefined) throw new Error("expected one type");
  const outcome = await testKit([waiting]).run(charge, null);
  expect(outcome).toMatchObject({ status: "completed", result: "paid" });
  expect(outcome.attempts).toMatchObject([
    { outcome: "retried", errorKind: "transient", errorType: "SecretUnreadable" },
    { outcome: "completed" },
  ]);
});
