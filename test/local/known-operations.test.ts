import dynalite from "dynalite/db/index.js";
import { expect, test } from "vitest";
import { KnownOperations } from "../../src/local/dynamodb/known-operations.ts";
import { isRefusal, runOperation } from "../../src/local/dynamodb/table-operations.ts";
import { TableStore } from "../../src/local/dynamodb/table-store.ts";
import fc from "../support/fast-check.ts";

const TableName = "tasks";
const key = (AttributeName: string, KeyType: string) => ({ AttributeName, KeyType });
const index = (IndexName: string, hash: string, range: string) => ({
  IndexName,
  KeySchema: [key(hash, "HASH"), key(range, "RANGE")],
  Projection: { ProjectionType: "ALL" },
});
const definition = {
  TableName,
  BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: ["pk", "sk", "kind", "at"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
  KeySchema: [key("pk", "HASH"), key("sk", "RANGE")],
  GlobalSecondaryIndexes: [index("times", "kind", "at"), index("names", "at", "kind")],
};

interface Engine {
  run(operation: string, input: object): Promise<object>;
}

async function withTable<One extends Engine>(engine: One): Promise<One> {
  await engine.run("CreateTable", structuredClone(definition));
  const isActive = async () => JSON.stringify(await engine.run("DescribeTable", { TableName })).includes('"ACTIVE"');
  while (!(await isActive())) await new Promise(setImmediate);
  return engine;
}

const known = async () => withTable(await TableStore.open(undefined));

/** Dynalite alone. */
async function plain(): Promise<Engine> {
  const store = dynalite.create({ createTableMs: 0, updateTableMs: 0, deleteTableMs: 0 });
  await store.db.open();
  return withTable({ run: (operation, input) => runOperation(store, operation, input) });
}

/** A batch's items come in any order. */
function inOrder(answer: { Responses?: Record<string, object[]> }): object {
  answer.Responses?.[TableName]?.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  return answer;
}

async function answerOf(engine: Engine, [operation, input]: Call): Promise<unknown> {
  try {
    return inOrder(await engine.run(operation, JSON.parse(JSON.stringify({ TableName, ...input })) as object));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return error.body;
  }
}

type Call = readonly [operation: string, input: object];

const text = fc.constantFrom("a", "b", "ä", "c#1", "");
const number = fc.constantFrom("0", "1", "-7", "41", "1.50", "1e3", "900719925474099267", "-0", "007");
const scalar = fc.oneof(
  { weight: 5, arbitrary: text.map((S) => ({ S })) },
  { weight: 4, arbitrary: number.map((N) => ({ N })) },
  fc.boolean().map((BOOL) => ({ BOOL })),
  fc.constantFrom({ NULL: true }, { NULL: false }, { SS: ["a", "b"] }, { SS: ["a", "a"] }, { B: "YQ==" }, {}),
  fc.constantFrom({ S: "a", N: "1" }, { X: "a" }, { N: "a" }),
);
const value = fc.oneof(
  { weight: 6, arbitrary: scalar },
  fc.array(scalar, { maxLength: 2 }).map((L) => ({ L })),
  scalar.map((inner) => ({ M: { inner } })),
);
/** Mostly what is done without dynalite. */
const usual = fc.oneof(
  { weight: 16, arbitrary: fc.constantFrom("0", "1", "-7", "41").map((N) => ({ N })) },
  { weight: 8, arbitrary: fc.constantFrom("a", "b", "ä").map((S) => ({ S })) },
  { weight: 4, arbitrary: fc.constantFrom("a", "b").map((S) => ({ L: [{ S }] })) },
  value,
);
const keyText = fc.oneof({ weight: 20, arbitrary: fc.constantFrom("a", "b", "ä") }, text);
const keyOf = fc.oneof(
  { weight: 20, arbitrary: fc.record({ pk: keyText.map((S) => ({ S })), sk: keyText.map((S) => ({ S })) }) },
  fc.constantFrom(
    { pk: { S: "a" } },
    { pk: { N: "1" }, sk: { S: "a" } },
    { pk: { S: "a" }, sk: { S: "a" }, x: { S: "" } },
  ),
);
const fields = fc.record(
  { kind: fc.oneof({ weight: 6, arbitrary: keyText.map((S) => ({ S })) }, value), at: usual, n: usual, x: usual },
  { requiredKeys: [] },
);
const comparison = fc.constantFrom("=", "<>", "<", "<=", ">", ">=");
const test1 = fc.oneof(
  fc.tuple(fc.constantFrom("#n", "x", "kind", "pk", "x.inner"), comparison).map(([a, b]) => `${a} ${b} :v`),
  fc.constantFrom(
    "attribute_exists(#n)",
    "attribute_not_exists(pk)",
    "attribute_not_exists(x)",
    "begins_with(kind, :v)",
  ),
  fc.constantFrom("contains(x, :v)", "x IN (:v, :w)", "size(x) > :w", "x BETWEEN :v AND :w", "attribute_type(x, :v)"),
);
const conditionText = fc.oneof(
  { weight: 3, arbitrary: test1 },
  fc.tuple(test1, fc.constantFrom("AND", "OR", "AND NOT"), test1).map(([a, and, b]) => `(${a}) ${and} (${b})`),
);
const updateText = fc.constantFrom(
  ...[
    "SET #n = :v",
    "SET kind = :v REMOVE x",
    "SET at = :v, kind = :w",
    "SET #n = if_not_exists(#n, :v) + :w",
    "REMOVE kind, #n",
  ],
  ...[
    "SET x = list_append(x, :v)",
    "SET #n = #n - :v",
    "SET x.inner = :v",
    "ADD #n :v",
    "SET pk = :v",
    "SET #n = kind",
    "SET",
  ],
  ...["SET x = if_not_exists(x, :v), #n = :w", "SET x = list_append(if_not_exists(x, :v), :w)", "DELETE x :v"],
);

/** The names and values that expressions use. Dynalite refuses others. */
const used = (texts: readonly (string | undefined)[], v: object, w: object) => {
  const all = texts.join(" ");
  const values = { ...(all.includes(":v") && { ":v": v }), ...(all.includes(":w") && { ":w": w }) };
  return {
    ...(all.includes("#n") && { ExpressionAttributeNames: { "#n": "n" } }),
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
};
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined, freq: 1 });
const withTexts = (texts: object) => Object.fromEntries(Object.entries(texts).filter(([, one]) => one !== undefined));
const returned = fc.constantFrom(undefined, undefined, "NONE", "ALL_NEW", "ALL_OLD");
const batchOf = (one: unknown) => ({ TableName: undefined, RequestItems: { [TableName]: one } });
const call: fc.Arbitrary<Call> = fc.oneof(
  fc
    .tuple(keyOf, fields, maybe(conditionText), usual, usual, returned)
    .map(([Key, more, ConditionExpression, v, w, ReturnValues]) => {
      const texts = withTexts({ ConditionExpression, ReturnValues });
      return ["PutItem", { Item: { ...Key, ...more }, ...texts, ...used([ConditionExpression], v, w) }] as const;
    }),
  {
    weight: 3,
    arbitrary: fc
      .tuple(keyOf, updateText, maybe(conditionText), usual, usual, returned)
      .map(([Key, UpdateExpression, ConditionExpression, v, w, ReturnValues]) => {
        const texts = withTexts({ UpdateExpression, ConditionExpression, ReturnValues });
        return ["UpdateItem", { Key, ...texts, ...used([UpdateExpression, ConditionExpression], v, w) }] as const;
      }),
  },
  keyOf.map((Key) => ["GetItem", { Key, ConsistentRead: true }] as const),
  fc
    .tuple(fc.array(keyOf, { minLength: 1, maxLength: 4 }), fc.constantFrom(undefined, true, false, "no"))
    .map(([Keys, ConsistentRead]) => ["BatchGetItem", batchOf({ Keys, ConsistentRead })] as const),
  fc.constantFrom(["BatchGetItem", { TableName }], ["BatchGetItem", batchOf({})]),
  keyOf.map((Key) => ["DeleteItem", { Key }] as const),
);

const contents = (engine: Engine) =>
  Promise.all(
    [
      ["Scan", {}],
      ...["a", "b", "ä", "c#1"].flatMap((one) =>
        [
          ["times", "kind"],
          ["names", "at"],
        ].map(([IndexName, name]) => [
          "Query",
          {
            IndexName,
            KeyConditionExpression: "#k = :k",
            ExpressionAttributeNames: { "#k": name },
            ExpressionAttributeValues: { ":k": { S: one } },
          },
        ]),
      ),
    ].map((one) => answerOf(engine, one as unknown as Call)),
  );

test("each answer and all that is stored are those of dynalite alone", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 20, maxLength: 60 }), async (calls) => {
      const [one, other] = await Promise.all([known(), plain()]);
      // Each comes again: what dynalite has accepted is known then.
      for (const each of [...calls, ...calls.toReversed(), ...calls])
        expect(await answerOf(one, each)).toEqual(await answerOf(other, each));
      expect(await contents(one)).toEqual(await contents(other));
    }),
    { numRuns: Number(process.env.OFFLOAD_RUNS ?? 30) },
  );
});

const put = (n: string) => ({ TableName, Item: { pk: { S: "a" }, sk: { S: n }, n: { N: n } } });

test("an operation that was accepted is done without dynalite, and one that is refused with it", async () => {
  const own = dynalite.create({ createTableMs: 0, updateTableMs: 0, deleteTableMs: 0 });
  await own.db.open();
  await withTable({ run: (operation, input) => runOperation(own, operation, input) });
  const operations = new KnownOperations(own);
  const run = async (input: object) => {
    const name = operations.nameOf("PutItem", input) ?? "";
    const answer = await operations.run(name, "PutItem", input);
    await operations.learn(name, "PutItem", input);
    return answer;
  };
  expect(await run(put("1"))).toBeUndefined();
  expect(await run(put("2"))).toEqual({});
  expect(await run({ ...put("3"), ConditionExpression: "attribute_not_exists(pk)" })).toBeUndefined();
  expect(await run({ ...put("4"), ConditionExpression: "attribute_not_exists(pk)" })).toEqual({});
  expect(await run({ ...put("4"), ConditionExpression: "attribute_not_exists(pk)" })).toBeUndefined();
});

test("a batch of few items is read without dynalite, and one with a key twice is refused", async () => {
  const own = dynalite.create({ createTableMs: 0, updateTableMs: 0, deleteTableMs: 0 });
  await own.db.open();
  await withTable({ run: (operation, input) => runOperation(own, operation, input) });
  const operations = new KnownOperations(own);
  await runOperation(own, "PutItem", put("1"));
  const keys = (...all: string[]) => ({
    RequestItems: { [TableName]: { Keys: all.map((n) => ({ pk: { S: "a" }, sk: { S: n } })), ConsistentRead: true } },
  });
  const name = operations.nameOf("BatchGetItem", keys("1")) ?? "";
  await operations.learn(name, "BatchGetItem", keys("1"));
  expect(await operations.run(name, "BatchGetItem", keys("2", "1"))).toEqual({
    Responses: { [TableName]: [put("1").Item] },
    UnprocessedKeys: {},
  });
  expect(await operations.run(name, "BatchGetItem", keys("1", "1"))).toBeUndefined();
  expect(operations.nameOf("BatchGetItem", keys("1", "2", "3", "4"))).toBeUndefined();
});

test("an item of more than 400 KB is refused, whichever characters it has, also after a smaller one", async () => {
  const engine = await known();
  const put = (text: string) =>
    answerOf(engine, ["PutItem", { Item: { pk: { S: "a" }, sk: { S: "b" }, text: { S: text } } }]);
  expect(await put("small")).toEqual({});
  for (const character of ["a", "ä", "漢"]) {
    const bytes = Buffer.byteLength(character);
    expect(await put(character.repeat(Math.floor(409_000 / bytes)))).not.toHaveProperty("__type");
    expect(await put(character.repeat(Math.ceil(409_600 / bytes)))).toMatchObject({
      __type: expect.stringContaining("ValidationException"),
    });
  }
});

test("two updates at the same time both count", async () => {
  const store = await known();
  await store.run("PutItem", put("0"));
  const add = () => ({
    TableName,
    Key: { pk: { S: "a" }, sk: { S: "0" } },
    UpdateExpression: "SET n = n + :one",
    ExpressionAttributeValues: { ":one": { N: "1" } },
  });
  const mixed = () => ({ ...add(), ReturnValues: "UPDATED_NEW" });
  await store.run("UpdateItem", add());
  await Promise.all(Array.from({ length: 40 }, (_, at) => store.run("UpdateItem", at % 4 === 0 ? mixed() : add())));
  expect(await store.run("GetItem", { TableName, Key: add().Key })).toEqual({
    Item: { pk: { S: "a" }, sk: { S: "0" }, n: { N: "41" } },
  });
});

test("a table that is made again with other keys is known anew", async () => {
  const store = await known();
  await store.run("PutItem", put("1"));
  await store.run("PutItem", put("2"));
  await store.run("DeleteTable", { TableName });
  const isGone = () =>
    store.run("DescribeTable", { TableName }).then(
      () => false,
      () => true,
    );
  while (!(await isGone())) await new Promise(setImmediate);
  await expect(store.run("PutItem", put("3"))).rejects.toMatchObject({ statusCode: 400 });
  await withTable(store);
  await store.run("PutItem", put("4"));
  expect(await store.run("Scan", { TableName })).toMatchObject({ Count: 1 });
});
