import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { expect, test } from "vitest";
import { Submits } from "../../src/local/gateway/submits.ts";

const requestOf = (method: string, rawPath: string, { headers = {}, query = {} } = {}) =>
  ({ rawPath, headers, queryStringParameters: query, requestContext: { http: { method } } }) as APIGatewayProxyEventV2;

const submit = requestOf("POST", "/tasks");

/** Calls that end when the test says so. */
function openCalls() {
  const open: ((error?: Error) => void)[] = [];
  const call = () =>
    new Promise<string>((resolve, reject) => open.push((error) => (error ? reject(error) : resolve("answer"))));
  return { open, call };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("three submits run at the same time, and the others in their order", async () => {
  const submits = new Submits();
  const { open, call } = openCalls();
  const answers = [1, 2, 3, 4, 5].map(() => submits.run(submit, call));
  await settle();
  expect([open.length, submits.open]).toEqual([3, 5]);
  open[0]?.();
  await settle();
  expect([open.length, submits.open]).toEqual([4, 4]);
  for (const end of [1, 2, 3]) open[end]?.();
  await settle();
  open[4]?.();
  expect(await Promise.all(answers)).toEqual(Array(5).fill("answer"));
  expect(submits.open).toBe(0);
});

test("a submit that comes as another one ends waits behind those before it", async () => {
  const submits = new Submits();
  const { open, call } = openCalls();
  const order: string[] = [];
  const named = (name: string) => () => {
    order.push(name);
    return call();
  };
  const first = call();
  const answers = [submits.run(submit, () => first), submits.run(submit, call), submits.run(submit, call)];
  answers.push(submits.run(submit, named("before")));
  // It comes between the end of the first one and the start of the next one.
  void first.then(() => answers.push(submits.run(submit, named("after"))));
  open[0]?.();
  await settle();
  expect([order, submits.open]).toEqual([["before"], 4]);
  for (let end = 1; end < 5; end++) {
    open[end]?.();
    await settle();
  }
  expect([order, await Promise.all(answers)]).toEqual([["before", "after"], Array(5).fill("answer")]);
});

test("a submit that fails lets the next one run", async () => {
  const submits = new Submits();
  const { open, call } = openCalls();
  const answers = [1, 2, 3, 4].map(() => submits.run(submit, call).catch(({ message }: Error) => message));
  await settle();
  open[0]?.(new Error("failed"));
  await settle();
  expect(open).toHaveLength(4);
  for (const end of open) end();
  expect(await Promise.all(answers)).toEqual(["failed", "answer", "answer", "answer"]);
});

test.each([
  ["a read", requestOf("GET", "/tasks")],
  ["a cancel", requestOf("POST", "/tasks/cancel")],
  ["a submit that waits by its query", requestOf("POST", "/tasks", { query: { wait: "20" } })],
  ["a submit that waits by its preference", requestOf("POST", "/tasks", { headers: { prefer: "wait=20" } })],
])("%s runs at once, and is not counted", async (_, event) => {
  const submits = new Submits();
  const { open, call } = openCalls();
  for (let count = 0; count < 4; count++) void submits.run(submit, call);
  const answer = submits.run(event, async () => "at once");
  expect(await answer).toBe("at once");
  expect([open.length, submits.open]).toEqual([3, 4]);
});

test("a batch is a submit", async () => {
  const submits = new Submits();
  const { open, call } = openCalls();
  void submits.run(requestOf("POST", "/tasks/batch"), call);
  await settle();
  expect([open.length, submits.open]).toEqual([1, 1]);
});
