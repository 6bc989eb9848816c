import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { defineTrigger } from "../../src/core/schedules/define-trigger.ts";
import { defineTask } from "../../src/core/task/task.ts";
import { costOf, countedDeployment, minus, none, rowsOf, share } from "../support/counted-deployment.ts";
import { shifted } from "../support/shifted-clock.ts";

vi.mock(import("../../src/aws/clients.ts"), async (importOriginal) => {
  const { countedClients } = await import("../support/counted-clients.ts");
  return countedClients(await importOriginal());
});

vi.mock(import("../../src/aws/process.ts"), async (importOriginal) => {
  const { clock } = await import("../support/shifted-clock.ts");
  return { ...(await importOriginal()), systemClock: clock };
});

vi.mock(import("../../src/aws/watchdog.ts"), () => ({ threadWatchdog: () => ({ guard: () => () => {} }) }));

/** True: handlers fail, and their tasks are retried. */
let failing = false;

/** The link that a handler made. */
let link = "";

/** Lists of up to 500 inputs. */
const collect = { maxItems: 500, waitSeconds: 10 };
const input = z.strictObject({ key: z.string().default("k"), limit: z.int().default(1) });
const handler = () => (failing ? Promise.reject(new Error("down")) : Promise.resolve("done"));
const key = (one: { key: string }) => one.key;
const one = { input, handler };
const types = [
  defineTask({ name: "plain", ...one }),
  defineTask({ name: "strict", ...one, concurrency: { key, limit: 1, order: "strict" } }),
  defineTask({ name: "place", ...one, concurrency: { key, limit: 1 } }),
  defineTask({ name: "place-by-input", ...one, concurrency: { key, limit: ({ limit }) => limit } }),
  defineTask({ name: "rate", ...one, rateLimit: { limit: 5, perSeconds: 1 } }),
  defineTask({
    name: "rates",
    ...one,
    rateLimit: [
      { limit: 5, perSeconds: 1 },
      { limit: 2_000, perSeconds: 86_400 },
    ],
  }),
  defineTask({ name: "breaker", ...one, breaker: { failures: 3, coolDownSeconds: 60 } }),
  defineTask({ name: "breaker-by-key", ...one, breaker: { failures: 3, coolDownSeconds: 60, key } }),
  defineTask({
    name: "list",
    input: z.strictObject({}),
    collect,
    handler: () => {},
  }),
  defineTask({ name: "list-by-key", ...one, collect, concurrency: { key, limit: 1 } }),
  defineTask({ name: "list-limited", ...one, collect, concurrency: { limit: 1 } }),
  defineTask({ name: "waits", input, handler: (_, task) => task.waitFor("go", { timeoutSeconds: 600 }) }),
  defineTask({
    name: "links",
    input,
    handler: async (_, task) => {
      link = await task.signalUrl("go", { expiresInSeconds: 600 });
      return task.waitFor("go", { timeoutSeconds: 600 });
    },
  }),
];
const common = { pattern: { source: ["shop"] }, tenantId: "$.detail.tenant" };
const triggers = [
  defineTrigger({ ...common, name: "gone", cancel: { type: "plain", key: "shop-<$.detail.id>" } }),
  defineTrigger({ ...common, name: "paid", signal: { type: "waits", key: "shop-<$.detail.id>", name: "go" } }),
];

const { call, work, event, submitted, drain } = countedDeployment(types, triggers);
const { expectRow, left } = rowsOf("docs/keys.md");

afterEach(() => {
  failing = false;
});

/** Submits a task of the type, and works until it has ended. */
const whole = (type: string) =>
  costOf(async () => {
    await submitted(type);
    await work();
  });

const soon = { delay_seconds: 600 };

describe("the table of calls has the requests of", () => {
  const move = (id: string, delay_seconds: number, role?: string) =>
    call("POST", `/tasks/${id}/reschedule`, { delay_seconds }, role);
  const unique = (mode: string, more: object = {}) => submitted("plain", { unique: { key: "k", mode }, ...more });

  /** Calls on the task of a key that waits for its start in ten minutes. */
  const calls: Record<string, (id: string) => Promise<unknown>> = {
    "status by id": (id) => call("GET", `/tasks/${id}`),
    "status by `~type:key`": () => call("GET", "/tasks/~plain:k"),
    "`reschedule` to an earlier time": (id) => move(id, 300),
    "`reschedule` to a later time": (id) => move(id, 7_200),
    "submit with `replace` and another time": () => unique("replace", { delay_seconds: 300 }),
  };

  test.each(Object.entries(calls))("%s", async (name, act) => {
    const { task_id } = await unique("existing", soon);
    expectRow(name, await costOf(() => act(task_id)));
  });

  test("an operator's call: two writes more, for the audit", async () => {
    const { task_id } = await unique("existing", soon);
    const own = await costOf(() => move(task_id, 400));
    expect(minus(await costOf(() => move(task_id, 200, "operator")), own)).toEqual({ ...none, writes: 2 });
  });

  test("events that act on a key", async () => {
    await submitted("plain", { unique: { key: "shop-7" }, ...soon }, "operator");
    expectRow("event that cancels the task of a key", await costOf(() => event("gone", "e1")));
    await submitted("waits", { unique: { key: "shop-7" } }, "operator");
    await work();
    expectRow("event that signals the task of a key", await costOf(() => event("paid", "e2")));
  });

  test("links that signal", async () => {
    const [without, made] = [await whole("waits"), await whole("links")];
    expectRow("`task.signalUrl`", minus(made, without));
    const path = new URL(link).pathname;
    expect(await costOf(() => call("GET", path))).toEqual(none);
    expectRow("POST of its link", await costOf(() => call("POST", path, {})));
  });

  test("PUT of a schedule", async () => {
    const put = (cron: string) => {
      const schedule = { name: "night", task: { type: "plain", input: {} }, cron };
      return costOf(() => call("PUT", "/schedules/~night", schedule, "operator"));
    };
    expectRow("`PUT /schedules/~name`, a new one", await put("0 3 * * *"));
    expectRow("`PUT /schedules/~name`, a change", await put("0 4 * * *"));
  });
});

describe("the table of tasks has the requests of", () => {
  test("a task without keys and limits", async () => {
    expectRow("none of these: submit, attempt and end", await whole("plain"));
  });

  test.each([
    ["`concurrency` with a `limit` by the input", "place-by-input"],
    ['`concurrency` with `order: "strict"`', "strict"],
    ["`rateLimit`, one", "rate"],
    ["`rateLimit`, a list of two", "rates"],
    ["`breaker: { key }`", "breaker-by-key"],
  ])("%s", async (name, type) => {
    const plain = await whole("plain");
    // The first task of a process and a key reads and notes more, and so does one a minute later.
    await whole(type);
    shifted.byMs += 10_000;
    expectRow(name, minus(await whole(type), plain));
  });

  test("a failure with a breaker, and a retry in strict order", async () => {
    failing = true;
    const plain = await whole("plain");
    expectRow("`breaker: { key }`, a failure", minus(await whole("breaker-by-key"), plain));
    failing = false;
    await drain();
    const retryOf = async (type: string) => {
      failing = true;
      await whole(type);
      shifted.byMs += 600_000;
      const retry = await costOf(work);
      failing = false;
      await drain();
      return retry;
    };
    expectRow('`order: "strict"`, a retry that fails', minus(await retryOf("strict"), await retryOf("plain")));
  });

  test("a key in the mode restart", async () => {
    const plain = await whole("plain");
    const restart = () => submitted("plain", { unique: { key: "r", mode: "restart" } });
    const cost = await costOf(async () => {
      await restart();
      await work();
    });
    expectRow("`restart`, no task has the key", minus(cost, plain));
    await submitted("plain", { unique: { key: "s" }, ...soon });
    const waiting = await costOf(async () => {
      await submitted("plain", { unique: { key: "s", mode: "restart" } });
      await work();
      await work();
    });
    expectRow("`restart` of a task that waits", minus(waiting, plain));
    await submitted("plain", { unique: { key: "t" }, ...soon });
    const again = () => submitted("plain", { unique: { key: "t", mode: "restart" } });
    await again();
    await again();
    const turn = await costOf(again);
    const plainSubmit = await costOf(() => submitted("plain"));
    expectRow("`restart` of a restart whose turn has not come, its submit alone", minus(turn, plainSubmit));
    // However many of them came before a worker.
    for (let count = 0; count < 5; count++) expect(await costOf(again)).toEqual(turn);
    await drain();
  });

  test.each([10, 100])("a list of %i inputs, each", async (inputs) => {
    const cost = await costOf(async () => {
      for (let count = 0; count < inputs; count++) await submitted("list", { unique: { key: "c", mode: "collect" } });
      shifted.byMs += 10_000;
      await work();
    });
    expectRow(`\`collect\`, an input of a list of ${inputs}`, share(cost, inputs));
  });

  test("a list with a limit by key", async () => {
    const listOf = (type: string) =>
      costOf(async () => {
        await submitted(type, { unique: { key: "c", mode: "collect" } });
        shifted.byMs += 10_000;
        await work();
      });
    await listOf("list-limited");
    await listOf("list-by-key");
    const limited = await listOf("list-limited");
    expectRow("a `key` of a limit, type with `collect`", minus(await listOf("list-by-key"), limited));
  });
});

test("no other row is in the tables", () => {
  expect(left()).toEqual([]);
});
