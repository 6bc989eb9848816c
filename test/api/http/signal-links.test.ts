import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { hashSecret } from "../../../src/core/model/keys.ts";
import type { SignalUrlOptions } from "../../../src/core/task/context.ts";
import { MemorySignalLinks } from "../../../src/memory/signal-links.ts";
import { type Ask, ask, problem, served } from "../../support/served.ts";
import { typeOf } from "../../support/task-types.ts";

const nobody = {} as never;
const hourSeconds = 3_600;
const form = { "content-type": "application/x-www-form-urlencoded" };

/** A task that waits for the signal of a link, which its step gave away. */
async function waiting(options: Partial<SignalUrlOptions> = {}, name = "approved") {
  const urls: string[] = [];
  const made = served([
    typeOf(async (_, task) => {
      await task.step("mail", async () => {
        urls.push(await task.signalUrl(name, { expiresInSeconds: hourSeconds, ...options }));
      });
      return (await task.waitFor("approved", { timeoutSeconds: 2 * hourSeconds })) ?? "no answer";
    }),
  ]);
  const record = await made.accepted();
  await made.work(record.priority);
  const path = new URL(urls[0] ?? "").pathname;
  const send = (given: Ask = {}) => ask(made.control, path, { as: nobody, method: "POST", ...given });
  const ended = async () => {
    await made.work(record.priority);
    return made.recordOf(record);
  };
  return { ...made, record, urls, path, send, ended };
}

describe("the link of a signal", () => {
  test("is an address of the API with a secret of which the table has only the hash", async () => {
    const create = vi.spyOn(MemorySignalLinks.prototype, "create");
    const { urls, record } = await waiting();
    expect(urls[0]).toMatch(/^https:\/\/api\.example\.com\/signals\/ofs_[A-Za-z0-9_-]{43}$/);
    const secret = urls[0]?.split("/").at(-1) ?? "";
    const { tenant_id, task_id, created_at } = record;
    const link = { tenant_id, task_id, created_at, name: "approved" };
    expect(create.mock.calls).toEqual([[hashSecret(secret), link, expect.any(Number)]]);
    create.mockRestore();
  });

  test("sends its signal once, without a key: again with the same body 202, with another one 409", async () => {
    const { send, ended } = await waiting();
    expect(await send({ json: { by: "ada" } })).toMatchObject({ status: 202 });
    expect(await send({ json: { by: "ada" } })).toMatchObject({ status: 202 });
    expect(await send({ json: { by: "bob" } })).toMatchObject(problem(409, "conflict"));
    expect(await ended()).toMatchObject({ status: "completed", result: { by: "ada" } });
    expect(await send({ json: { by: "ada" } })).toMatchObject({ status: 202 });
    expect(await send({ json: { by: "bob" } })).toMatchObject(problem(409, "conflict"));
  });

  test("answers a GET with the same page for each link, valid or not, and changes nothing", async () => {
    const { control, path, record, recordOf } = await waiting();
    const before = await recordOf(record);
    const page = await ask(control, path, { as: nobody });
    expect(page).toMatchObject({ status: 200 });
    expect(page.headers.get("content-type")).toMatch(/^text\/html/);
    expect(page.headers.get("cache-control")).toBe("no-store");
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect((await ask(control, "/signals/ofs_nothing", { as: nobody })).text).toBe(page.text);
    expect(await recordOf(record)).toEqual(before);
  });

  test("takes an empty body, as the button of its page sends one", async () => {
    const { send, ended } = await waiting();
    expect(await send({ headers: form, raw: "" })).toMatchObject({ status: 202 });
    expect(await ended()).toMatchObject({ status: "completed", result: {} });
  });

  test("takes the fields of a form; of several with one name a list", async () => {
    const { send, ended } = await waiting();
    expect(await send({ headers: form, raw: "by=ada+l&tag=a&tag=b" })).toMatchObject({ status: 202 });
    expect(await ended()).toMatchObject({ result: { by: "ada l", tag: ["a", "b"] } });
  });

  test("is not found after its time, and for an unknown secret", async () => {
    const { control, clock, send } = await waiting();
    const foreign = { as: nobody, json: {} };
    expect(await ask(control, `/signals/ofs_${"a".repeat(43)}`, foreign)).toMatchObject(problem(404, "not_found"));
    await clock.advance(hourSeconds * 1_000);
    expect(await send({ json: {} })).toMatchObject(problem(404, "not_found"));
  });

  test("says nothing of a task that takes no answer", async () => {
    const { control, record, send } = await waiting();
    expect(await ask(control, `/tasks/${record.task_id}/cancel`, { json: {} })).toMatchObject({ status: 200 });
    const refused = await send({ json: {} });
    expect(refused).toMatchObject(problem(409, "conflict"));
    expect(refused.text).not.toMatch(/cancel/);
  });

  test("refuses a body that its schema refuses, and is not used by it", async () => {
    const schema = z.strictObject({ approved: z.boolean(), cents: z.int().max(100), note: z.string().optional() });
    const { send, ended } = await waiting({ schema });
    expect(await send({ json: { approved: "yes", cents: 5 } })).toMatchObject(problem(422, "invalid_input"));
    expect(await send({ json: { approved: true, cents: 5, more: 1 } })).toMatchObject(problem(422, "invalid_input"));
    expect(await send({ headers: form, raw: "approved=true&cents=101" })).toMatchObject({ status: 422 });
    expect(await send({ headers: form, raw: "approved=true&cents=42&note=7" })).toMatchObject({ status: 202 });
    expect(await ended()).toMatchObject({ result: { approved: true, cents: 42, note: "7" } });
  });

  test.each([
    ["{", 400],
    ['{"__proto__":1}', 400],
    [JSON.stringify("a".repeat(300_000)), 413],
  ])("refuses a hostile body: %.20s", async (raw, status) => {
    const { send } = await waiting();
    expect(await send({ headers: { "content-type": "application/json" }, raw })).toMatchObject({ status });
    expect(await send({ headers: form, raw: "__proto__=1" })).toMatchObject({ status: 400 });
    const fields = Array.from({ length: 1_001 }, (_, index) => `f${index}=1`).join("&");
    expect(await send({ headers: form, raw: fields })).toMatchObject({ status: 422 });
  });

  test("cuts its secret in log lines", async () => {
    const { path, control, ports, log } = await waiting();
    ports.links.find = () => Promise.reject(new Error("no table"));
    expect(await ask(control, path, { as: nobody, json: {} })).toMatchObject({ status: 500 });
    const secret = path.split("/").at(-1) ?? "";
    expect(JSON.stringify(log.lines)).toContain("/signals/ofs_…");
    expect(JSON.stringify(log.lines)).not.toContain(secret);
  });
});

test.each([
  ["a b", { expiresInSeconds: 60 }, "signalUrl: a name has"],
  ["approved", { expiresInSeconds: 0 }, "expiresInSeconds must be a number from 1 to 31536000, got 0"],
  ["approved", undefined, "expiresInSeconds must be a number"],
  ["approved", { expiresInSeconds: 60, schema: {} }, "schema must be one of Zod"],
  ["approved", { expiresInSeconds: 60, schema: z.date() }, "schema must be one of Zod"],
])("signalUrl(%j, %j) fails the task", async (name, options, words) => {
  const { accepted, work, recordOf } = served([
    typeOf((_, task) => task.signalUrl(name, options as unknown as SignalUrlOptions)),
  ]);
  const record = await accepted();
  await work(record.priority);
  expect(await recordOf(record)).toMatchObject({
    status: "failed",
    error: expect.stringContaining(words),
    error_kind: "permanent",
  });
});
