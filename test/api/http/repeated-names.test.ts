import { describe, expect, test } from "vitest";
import { parseJson } from "../../../src/api/http/body.ts";
import { Problem } from "../../../src/core/model/problem.ts";
import fc from "../../support/fast-check.ts";
import { filePorts } from "../../support/file-ports.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { allParts } from "../../support/parts/all.ts";
import { schedulesPipeline } from "../../support/schedules-pipeline.ts";
import { appsOf, ask, served } from "../../support/served.ts";
import { echo, typeOf } from "../../support/task-types.ts";

/** An answer, and what the pipeline has read. */
interface Read {
  status: number;
  text: string;
  value: () => Promise<unknown>;
}

const headers = { "content-type": "application/json" };
const resultOf = async (app: ReturnType<typeof served>, taskId: unknown) => {
  await app.drain();
  return (await ask(app.status, `/tasks/${taskId}`)).json.result;
};

/** Requests with an object somewhere in them, as text. */
const places: Record<string, (object: string) => Promise<Read>> = {
  "a submit": async (object) => {
    const app = served();
    const raw = `{"type":"none","type":"echo","input":{"value":0},"input":{"value":${object}}}`;
    const answer = await ask(app.submit, "/tasks", { raw, headers });
    return { ...answer, value: () => resultOf(app, JSON.parse(answer.text).task_id) };
  },
  "an entry of a batch": async (object) => {
    const app = served();
    const sent = `{"type":"none","type":"echo","input":{"value":${object}}}`;
    const answer = await ask(app.submit, "/tasks/batch", { raw: `{"tasks":7,"tasks":[${sent}]}`, headers });
    const [entry] = answer.json.tasks as [{ task_id?: string; problem?: { status: number } }];
    return {
      status: entry.problem?.status ?? answer.status,
      text: answer.text,
      value: () => resultOf(app, entry.task_id),
    };
  },
  "a form": async (object) => {
    const pipeline = memoryPipeline([echo]);
    const { submit } = appsOf({ ...pipeline.ports, ...filePorts(pipeline.clock) });
    const task = `{"type":"none","type":"echo","input":{"value":${object}}}`;
    const raw = `--b\r\nContent-Disposition: form-data; name="task"\r\n\r\n${task}\r\n--b--\r\n`;
    const answer = await ask(submit, "/tasks", { raw, headers: { "content-type": "multipart/form-data; boundary=b" } });
    const value = async () => {
      await pipeline.drain();
      return pipeline.records.all()[0]?.result;
    };
    return { ...answer, value };
  },
  "a signal": async (object) => {
    const app = served([typeOf(async (_, task) => await task.waitFor("go", { timeoutSeconds: 60 }))]);
    const { task_id } = await app.accepted();
    await app.work();
    const answer = await ask(app.control, `/tasks/${task_id}/signals/go`, { method: "POST", raw: object, headers });
    return { ...answer, value: () => resultOf(app, task_id) };
  },
  "a schedule": async (object) => {
    const { status, control } = appsOf(schedulesPipeline([echo], [], [], allParts).ports);
    const task = `{"type":"none","type":"echo","input":{"value":${object}}}`;
    const raw = `{"name":"none","name":"a","cron":"0 1 * * *","cron":"0 2 * * *","task":${task}}`;
    const answer = await ask(control, "/schedules", { raw, headers });
    const value = async () => {
      const { json } = await ask(status, `/schedules/${answer.json.schedule_id}`);
      expect(json).toMatchObject({ name: "a", cron: "0 2 * * *" });
      return (json.task as { input: { value: unknown } }).input.value;
    };
    return { ...answer, value };
  },
  "a changed input": async (object) => {
    const app = served();
    const { task_id } = await app.accepted();
    const raw = `{"input":7,"input":{"value":${object}}}`;
    const answer = await ask(app.control, `/tasks/${task_id}/input`, { raw, headers });
    return { ...answer, value: () => resultOf(app, task_id) };
  },
};

describe.each(Object.entries(places))("of a repeated name in %s", (_, send) => {
  test("the last counts", async () => {
    const { status, value } = await send('{"a":1,"b":[{"c":1,"c":"last"}],"a":{"a":2},"a":"last"}');
    expect(status).toBeLessThan(300);
    expect(await value()).toEqual({ a: "last", b: [{ c: "last" }] });
  });

  test("only the last must be a number that is kept exactly", async () => {
    const { status, value } = await send('{"a":12345678901234567890,"a":1}');
    expect(status).toBeLessThan(300);
    expect(await value()).toEqual({ a: 1 });
    const refused = await send('{"a":1,"a":12345678901234567890}');
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("send it as text")]);
  });
});

test("two requests that differ only in what does not count are one request of an idempotency key", async () => {
  const app = served();
  const key = { ...headers, "idempotency-key": "key-1" };
  const first = await ask(app.submit, "/tasks", { raw: '{"type":"echo","input":{"value":1}}', headers: key });
  const again = await ask(app.submit, "/tasks", { raw: '{"type":"echo","input":{"value":0,"value":1}}', headers: key });
  expect([again.status, again.json.task_id]).toEqual([202, first.json.task_id]);
});

test("in any JSON the last of a name counts, also beside numbers that would change", () => {
  interface Node {
    text: string;
    value: unknown;
    isExact: boolean;
  }
  const leaf = (text: string, isExact = true): Node => ({ text, value: isExact ? JSON.parse(text) : 0, isExact });
  const leaves = fc.constantFrom(
    leaf("1"),
    leaf("1e2"),
    leaf('"12345678901234567890"'),
    leaf("null"),
    leaf("12345678901234567890", false),
    leaf("1e999", false),
  );
  const objectOf = (members: [string, Node][]): Node => {
    const last = new Map(members);
    return {
      text: `{${members.map(([name, { text }]) => `${JSON.stringify(name)}:${text}`).join(", ")}}`,
      value: Object.fromEntries([...last].map(([name, { value }]) => [name, value])),
      isExact: [...last.values()].every(({ isExact }) => isExact),
    };
  };
  const listOf = (nodes: Node[]): Node => ({
    text: `[${nodes.map(({ text }) => text).join(",")}]`,
    value: nodes.map(({ value }) => value),
    isExact: nodes.every(({ isExact }) => isExact),
  });
  const { node } = fc.letrec<{ node: Node }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaves,
      fc.array(fc.tuple(fc.constantFrom("a", "b", "0", "1"), tie("node")), { maxLength: 5 }).map(objectOf),
      fc.array(tie("node"), { maxLength: 3 }).map(listOf),
    ),
  }));
  fc.assert(
    fc.property(node, ({ text, value, isExact }) => {
      if (isExact) expect(parseJson(text)).toEqual(value);
      else expect(() => parseJson(text)).toThrow(Problem);
    }),
    { numRuns: Number(process.env.OFFLOAD_PROPERTY_RUNS ?? 500) },
  );
});
