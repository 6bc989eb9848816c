import { beforeEach, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { createClient, type TaskResult } from "../../src/client/index.ts";
import { file, withOutcome } from "../../src/core/task/result.ts";
import { defineTask } from "../../src/core/task/task.ts";
import { testKit } from "../../src/testkit/kit.ts";

const input = z.object({ pages: z.number() });
const output = z.object({ total: z.int(), kind: z.enum(["full", "part"]) });

const exportPages = defineTask({
  name: "pages.export",
  input,
  children: { threshold: ({ pages }) => 1 / pages },
  handler: async () => {},
  aggregate: async ({ total }) => file(new Uint8Array(total), { contentType: "text/csv" }),
});
const countPages = defineTask({
  name: "pages.count",
  input,
  output,
  state: z.array(z.number()),
  children: { threshold: ({ pages }) => pages },
  handler: async () => {},
  aggregate: ({ total }, { state = [] }) => ({ total: total + state.length, kind: "full" as const }),
});
const sync = defineTask({
  name: "pages.sync",
  input,
  children: {},
  handler: async ({ pages }) => (pages === 0 ? { idle: true } : undefined),
  aggregate: ({ completed }) => ({ completed }),
});
const sendPages = defineTask({ name: "pages.send", input, children: { threshold: 0.5 }, handler: async () => {} });
const failing = defineTask({
  name: "pages.fail",
  input,
  children: {},
  handler: async () => {},
  aggregate: () => {
    throw new Error("no");
  },
});

const definitions = { exportPages, countPages, sync, sendPages, failing };
type Tasks = typeof definitions;

// The compiler checks these types. At run time little is left of them but this.
beforeEach(() => expect(Object.keys(definitions)).toHaveLength(5));

test("a parent's result is what aggregate returns", () => {
  expectTypeOf<TaskResult<Tasks, "pages.export">>().toEqualTypeOf<File>();
  expectTypeOf<TaskResult<Tasks, "pages.count">>().toEqualTypeOf<{ total: number; kind: "full" }>();
  expectTypeOf<TaskResult<Tasks, "pages.fail">>().toEqualTypeOf<never>();
  const client = createClient<Tasks>({ url: "http://127.0.0.1:1", key: "a-key" });
  const exported = async () => client.result(await client.submit("pages.export", { pages: 7 }));
  expectTypeOf(exported).returns.resolves.toEqualTypeOf<File>();
});

test("a parent's handler that may return a value without children adds its type", () => {
  expectTypeOf<TaskResult<Tasks, "pages.sync">>().toEqualTypeOf<{ completed: number } | { idle: boolean }>();
});

test("a parent without aggregate has the numbers of its children, or nothing without children", () => {
  type Numbers = { total: number; completed: number; failed: number; cancelled: number; expired: number };
  expectTypeOf<TaskResult<Tasks, "pages.send">>().toExtend<Numbers | null>();
  expectTypeOf<Numbers | null>().toExtend<TaskResult<Tasks, "pages.send">>();
});

test("the kit has the same type of a result", async () => {
  const { result } = await testKit([countPages]).run(countPages, { pages: 1 });
  expectTypeOf(result).toEqualTypeOf<{ total: number; kind: "full" } | undefined>();
  expect(result).toEqual({ total: 0, kind: "full" });
});

const named = { name: "pages.other", input, output, children: {} };
const nothing = async () => {};
const right = { total: 1, kind: "part" as const };

test("an aggregate that contradicts output does not compile", () => {
  const check = () => [
    defineTask({ ...named, handler: nothing, aggregate: () => right }),
    defineTask({ ...named, handler: nothing, aggregate: () => withOutcome("FULL", right) }),
    defineTask({ ...named, handler: nothing, aggregate: () => file("/tmp/a", { contentType: "text/csv" }) }),
    // @ts-expect-error The field has another name.
    defineTask({ ...named, handler: nothing, aggregate: () => ({ wrong: 1 }) }),
    // @ts-expect-error The field has another type.
    defineTask({ ...named, handler: nothing, aggregate: async () => ({ ...right, total: "1" }) }),
    // @ts-expect-error There is nothing.
    defineTask({ ...named, handler: nothing, aggregate: () => {} }),
    // @ts-expect-error The field has another name, beside an outcome.
    defineTask({ ...named, handler: nothing, aggregate: () => withOutcome("FULL", { wrong: 1 }) }),
  ];
  expectTypeOf(check).toBeFunction();
});

test("a wrong option of children does not compile", () => {
  const input = z.object({ share: z.number() });
  const family = { ...named, input, handler: nothing };
  const check = () => [
    defineTask({ ...family, children: {} }),
    defineTask({ ...family, children: { threshold: ({ share }) => share, stopOnFailure: true } }),
    // @ts-expect-error It is true or false.
    defineTask({ ...family, children: { stopOnFailure: 1 } }),
    // @ts-expect-error The option has another name.
    defineTask({ ...family, children: { threshold: 1, stopOnFailures: true } }),
    // @ts-expect-error The share is a number.
    defineTask({ ...family, children: { threshold: ({ share }) => `${share}` } }),
  ];
  expectTypeOf(check).toBeFunction();
});

test("a handler that contradicts output does not compile", () => {
  const plain = { name: "pages.other", input, output };
  const check = () => [
    defineTask({ ...plain, handler: () => right }),
    defineTask({ ...plain, handler: () => ({ ...right, more: 1 }) }),
    defineTask({ ...plain, handler: async () => withOutcome("FULL", right) }),
    // @ts-expect-error The field has another name.
    defineTask({ ...plain, handler: () => ({ wrong: 1 }) }),
    // @ts-expect-error Without children, the handler's value is the result.
    defineTask({ ...named, handler: () => ({ wrong: 1 }), aggregate: () => right }),
  ];
  expectTypeOf(check).toBeFunction();
});

test("a result that the compiler cannot judge is left to the run time", () => {
  const of = { name: "pages.other", input };
  const pages: z.ZodType<{ name: string; below: object[] }> = z.object({ name: z.string(), below: z.array(z.any()) });
  interface Row {
    id: string;
  }
  const check = (row: Row, rows: readonly Row[], response: Response) => [
    defineTask({ ...of, output, handler: async (): Promise<unknown> => response.json() }),
    defineTask({ ...of, output, handler: () => ({ total: 1, kind: "full" }) }),
    defineTask({ ...of, output, handler: () => JSON.parse("{}") }),
    defineTask({ ...of, output: z.json(), handler: () => ({ a: [1, { b: null }] }) }),
    defineTask({ ...of, output: z.record(z.string(), z.unknown()), handler: () => row }),
    defineTask({ ...of, output: z.array(z.object({ id: z.string() })), handler: () => rows }),
    defineTask({ ...of, output: z.tuple([z.string(), z.number()]), handler: () => ["a", 1] }),
    defineTask({ ...of, output: z.object({ at: z.date() }), handler: () => ({ at: new Date() }) }),
    defineTask({ ...of, output: pages, handler: () => ({ name: "a", below: [] }) }),
    defineTask({ ...of, output: output.optional(), handler: nothing }),
  ];
  expectTypeOf(check).toBeFunction();
});
