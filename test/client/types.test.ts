import { beforeEach, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import {
  type Client,
  createClient,
  type ProblemError,
  type TaskResult,
  type TaskView,
} from "../../src/client/index.ts";
import { file, withOutcome } from "../../src/core/task/result.ts";
import { defineTask } from "../../src/core/task/task.ts";
import type * as invoice from "../../tasks/invoice.generate.ts";
import type * as echo from "../../tasks/probe.echo.ts";

const mailSend = defineTask({
  name: "mail.send",
  input: z.object({ to: z.email(), copies: z.number().default(1) }),
  handler: async ({ to }) => ({ to, sentAt: new Date(), note: undefined as string | undefined }),
});
const reportDraw = defineTask({
  name: "report.draw",
  input: z.object({}),
  handler: () => file(new Uint8Array(), { contentType: "application/pdf", fileName: "report.pdf" }),
});
const roomBook = defineTask({
  name: "room.book",
  input: z.object({ room: z.string() }),
  handler: ({ room }) => (room === "" ? withOutcome("OVER_CAPACITY", { free: 0 }) : { free: 1, room }),
});
const cacheClear = defineTask({ name: "cache.clear", input: z.object({}), handler: async () => {} });

const definitions = { mailSend, reportDraw, roomBook, cacheClear, pause: (ms: number) => ms, limit: 3 };
type Tasks = typeof definitions;
const options = { url: "http://127.0.0.1:1", key: "a-key" };
const client = createClient<Tasks>(options);

// The compiler checks these types. At run time nothing is left of them but this.
beforeEach(() => expect(client).toBeDefined());

test("a definition keeps its literal name", () => {
  expectTypeOf(mailSend.name).toEqualTypeOf<"mail.send">();
});

test("names and inputs come from the definitions, before defaults and conversions", () => {
  expectTypeOf<Parameters<typeof client.submit>[0]>().toEqualTypeOf<
    "mail.send" | "report.draw" | "room.book" | "cache.clear"
  >();
  const check = () => [
    client.submit("mail.send", { to: "ada@example.com" }),
    client.submit("mail.send", { to: "ada@example.com", copies: 2 }, { priority: "low", runAt: new Date() }),
    // @ts-expect-error There is no such type.
    client.submit("mail.sent", { to: "ada@example.com" }),
    // @ts-expect-error The field has another name.
    client.submit("mail.send", { address: "ada@example.com" }),
    // @ts-expect-error The field has another type.
    client.submit("mail.send", { to: 7 }),
    // @ts-expect-error This is another type's input.
    client.submit("room.book", { to: "ada@example.com" }),
    // @ts-expect-error There is no such tier.
    client.submit("room.book", { room: "1" }, { priority: "urgent" }),
  ];
  expectTypeOf(check).toBeFunction();
});

test("results come from the handlers, as JSON delivers them", () => {
  expectTypeOf<TaskResult<Tasks, "mail.send">>().toEqualTypeOf<{
    to: string;
    sentAt: string;
    note: string | undefined;
  }>();
  expectTypeOf<TaskResult<Tasks, "report.draw">>().toEqualTypeOf<File>();
  expectTypeOf<TaskResult<Tasks, "room.book">>().toEqualTypeOf<{ free: number } | { free: number; room: string }>();
  expectTypeOf<TaskResult<Tasks, "cache.clear">>().toEqualTypeOf<null>();
});

test("an accepted task carries the type of its result to result()", () => {
  const sent = async () => client.result(await client.submit("mail.send", { to: "ada@example.com" }));
  expectTypeOf(sent).returns.resolves.toEqualTypeOf<{ to: string; sentAt: string; note: string | undefined }>();
  expectTypeOf(client.result).returns.resolves.toBeUnknown();
  expectTypeOf(() => client.result<TaskResult<Tasks, "report.draw">>("an-id")).returns.resolves.toEqualTypeOf<File>();
  expectTypeOf(client.progress).returns.toExtend<AsyncIterable<TaskView>>();
});

test("submitMany checks its inputs like submit, and its outcomes are told apart by their error", () => {
  const check = async () => {
    for await (const outcome of client.submitMany("mail.send", [{ to: "ada@example.com" }], { priority: "low" })) {
      if (outcome.error !== undefined) expectTypeOf(outcome.error).toEqualTypeOf<ProblemError>();
      else {
        expectTypeOf(() => client.result(outcome.task)).returns.resolves.toEqualTypeOf<
          TaskResult<Tasks, "mail.send">
        >();
      }
    }
    async function* rooms() {
      yield { room: "1" };
    }
    client.submitMany("room.book", rooms());
    // @ts-expect-error The inputs belong to another type.
    client.submitMany("mail.send", rooms());
  };
  expectTypeOf(check).toBeFunction();
});

test("submitBatch checks each task's input against its own type", () => {
  const check = () => [
    client.submitBatch([
      { type: "mail.send", input: { to: "ada@example.com" }, tags: { order: "7" }, idempotencyKey: "mail-7" },
      { type: "room.book", input: { room: "1" }, priority: "low" },
    ]),
    // @ts-expect-error The input belongs to another type.
    client.submitBatch([{ type: "mail.send", input: { room: "1" } }]),
  ];
  expectTypeOf(check).toBeFunction();
});

test("a module works as a record does", () => {
  type Own = typeof invoice & { echo: (typeof echo)["default"] };
  expectTypeOf<TaskResult<Own, "invoice.generate">>().toEqualTypeOf<File>();
  const check = (own: Client<Own>) => [
    own.submit("probe.echo", { value: 1 }),
    // @ts-expect-error An order needs lines.
    own.submit("invoice.generate", { number: "7" }),
  ];
  expectTypeOf(check).toBeFunction();
});

test("a schedule's task is checked like a submit", () => {
  const rule = { name: "mail", cron: "0 2 * * *" };
  const check = () => [
    client.schedules.create({
      ...rule,
      task: { type: "mail.send", input: { to: "ada@example.com" }, priority: "low" },
    }),
    // @ts-expect-error The input belongs to another type.
    client.schedules.create({ ...rule, task: { type: "mail.send", input: { room: "1" } } }),
  ];
  expectTypeOf(check).toBeFunction();
});

test("without definitions every name and input is allowed, and results are unknown", () => {
  const any = createClient(options);
  const sent = async () => any.result(await any.submit("anything", { at: ["all"] }));
  expectTypeOf(sent).returns.resolves.toBeUnknown();
});
