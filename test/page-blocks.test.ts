import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { DefinedTask } from "../src/core/task/task.ts";
import { type RunOptions, testKit } from "../src/testkit/kit.ts";
import { type Answer, type BlockModule, effectBlocks, PageBlocks } from "./support/page-blocks.ts";
import type { Fence } from "./support/pages.ts";

/*
 * Whoever copies a block of a page gets its effect for each task, not for the first one only: each block runs with two tasks of two inputs.
 */

/** Two tasks of a block's type. */
interface TaskCase {
  page: string;
  type: string;
  /** A text of the block, where several of the page define a type of this name. */
  text?: string;
  inputs: readonly [unknown, unknown];
  /** The effects of each task, as texts of which each is in one call. A task of another input must have its own. */
  effects?(input: never, index: number): string[];
  /** Values that both tasks leave in the block's own variables. */
  kept?: { of(module: BlockModule): unknown; is: unknown };
  /** The results of both tasks. */
  results?: readonly [unknown, unknown];
  answer?: Answer;
  options?: RunOptions;
}

const ada = { to: "ada@example.com", text: "Hello, Ada", subject: "To Ada" };
const bob = { to: "bob@example.com", text: "Hello, Bob", subject: "To Bob" };
const csv = (text: string) => new File([text], "orders.csv", { type: "text/csv" });
const video = new File(["video"], "talk.mp4", { type: "video/mp4" });
const mailed = ({ to }: typeof ada) => [`sendMail ${to}`];

/** Pages of a service, of which the second one is empty or the last. */
const pagesOf =
  (first: unknown, last: unknown): Answer =>
  ({ method, url }) => {
    if (method !== "GET") return undefined;
    return Response.json(/page=2|after=1|page-2/.test(url) ? last : first);
  };

const taskCases: TaskCase[] = [
  {
    page: "README.md",
    type: "thumbnail.create",
    inputs: [
      { url: "https://a.example.com/1.png", width: 32 },
      { url: "https://a.example.com/2.png", width: 64 },
    ],
    effects: ({ url }: { url: string }) => [`fetch GET ${url}`],
  },
  {
    page: "docs/alerts.md",
    type: "alert.send",
    inputs: [
      { task: "t1", type: "mail.send", error: "no such address" },
      { task: "t2", type: "mail.send", error: "no such host" },
    ],
    effects: ({ task, error }: { task: string; error: string }) => [`failed: ${error} (npx offload tasks get ${task})`],
  },
  {
    page: "docs/containers.md",
    type: "video.cut",
    inputs: [
      { from: 1, to: 2 },
      { from: 3, to: 4 },
    ],
    options: { files: { video } },
    results: [null, null],
  },
  {
    page: "docs/debugging.md",
    type: "mail.send",
    inputs: [{ to: ada.to }, { to: bob.to }],
    results: [{ sent: ada.to }, { sent: bob.to }],
  },
  {
    page: "docs/debugging.md",
    type: "order.ship",
    inputs: [
      { carrier: "a", parcels: 1 },
      { carrier: "b", parcels: 2 },
    ],
    effects: ({ carrier, parcels }: { carrier: string; parcels: number }) => [
      `"carrier":"${carrier}","parcels":${parcels},"task_id":"0`,
    ],
  },
  {
    page: "docs/fan-out.md",
    type: "bill.send",
    inputs: [
      { customer: "ada", month: "2027-01" },
      { customer: "bob", month: "2027-01" },
    ],
    effects: () => ["console.log send the bill here"],
  },
  {
    page: "docs/fan-out.md",
    type: "bill.send_all",
    inputs: [{ month: "2027-01" }, { month: "2027-02" }],
    results: [
      { total: 2, completed: 2, cents: 8400 },
      { total: 2, completed: 2, cents: 8400 },
    ],
  },
  {
    page: "docs/fan-out.md",
    type: "talk.publish",
    inputs: [{}, {}],
    options: { files: { video } },
    effects: () => ["console.log cut talk.mp4 to 1080", "console.log cut talk.mp4 to 360"],
  },
  {
    page: "docs/files.md",
    type: "table.count",
    inputs: [{ separator: "," }, { separator: ";" }],
    options: { files: { table: csv("a,b\n1,2\n") } },
    results: [
      { name: "orders.csv", rows: 2, cells: 2 },
      { name: "orders.csv", rows: 2, cells: 0 },
    ],
  },
  {
    page: "docs/files.md",
    type: "rows.export",
    inputs: [{ count: 1 }, { count: 2 }],
    results: [
      expect.objectContaining({ fileName: "rows.csv.gz" }),
      expect.objectContaining({ fileName: "rows.csv.gz" }),
    ],
  },
  {
    page: "docs/flow.md",
    type: "crm.update",
    inputs: [
      { account: "7", fields: { name: "Ada" } },
      { account: "8", fields: { name: "Bob" } },
    ],
    effects: ({ account }: { account: string }) => [`fetch PATCH https://crm.example.com/accounts/${account} {`],
  },
  { page: "docs/moving.md", type: "mail.send", inputs: [pick(ada), pick(bob)], effects: mailed },
  {
    page: "docs/moving.md",
    type: "user.welcome",
    inputs: [{ to: ada.to }, { to: bob.to }],
    effects: ({ to }: typeof ada) => [`sendMail ${to}`, `sendTips ${to}`],
  },
  {
    page: "docs/moving.md",
    type: "thumbnail.make",
    inputs: [
      { bucket: "b", key: "one" },
      { bucket: "b", key: "two" },
    ],
    effects: ({ key }: { key: string }) => [`makeThumbnail {"bucket":"b","key":"${key}"}`],
  },
  {
    page: "docs/steps.md",
    type: "order.fulfil",
    inputs: [{ order: "4711" }, { order: "4712" }],
    options: { signals: [{ name: "payment", body: { paid: true } }] },
    answer: ({ url }) => Response.json({ id: `of-${new URL(url).pathname.split("/")[2]}` }),
    effects: ({ order }: { order: string }) => [
      `fetch POST http://shop.test/orders/${order}/reservation`,
      `fetch POST http://shop.test/reservations/of-${order}/shipment`,
      `fetch POST http://shop.test/orders/${order}/review-mail`,
    ],
  },
  {
    page: "docs/steps.md",
    type: "customers.score",
    inputs: [{ source: "https://a.example.com/rows" }, { source: "https://b.example.com/rows" }],
    answer: pagesOf({ rows: [{ id: "c", orders: 1 }], next: "1" }, { rows: [{ id: "d", orders: 2 }], next: null }),
    effects: ({ source }: { source: string }) => [
      `${source}?limit=1000&after=1`,
      '/scores [{"id":"c"',
      '/scores [{"id":"d"',
    ],
  },
  {
    page: "docs/task-types.md",
    type: "report.daily",
    inputs: [{ day: "2027-01-01" }, { day: "2027-01-02" }],
    results: [
      { day: "2027-01-01", pages: 3 },
      { day: "2027-01-02", pages: 3 },
    ],
  },
  {
    page: "docs/task-types.md",
    type: "seat.book",
    inputs: [
      { show: "a", seats: 1 },
      { show: "a", seats: 5 },
    ],
    results: [{ free: 3 }, { free: 4 }],
  },
  {
    page: "docs/task-types.md",
    type: "ledger.post",
    inputs: [{ entry: "one" }, { entry: "two" }],
    effects: ({ entry }: { entry: string }) => [`fetch POST https://ledger.example.com/entries ${entry}`],
  },
  {
    page: "docs/task-types.md",
    type: "ledger.close",
    inputs: [{ month: "2027-01" }, { month: "2027-02" }],
    effects: ({ month }: { month: string }) => [`fetch POST https://ledger.example.com/close ${month}`],
  },
  {
    page: "docs/task-types.md",
    type: "webhook.send",
    inputs: [
      { url: "https://shop.example.com/hook", event: "paid", data: { order: 1 } },
      { url: "https://shop.example.com/hook", event: "paid", data: { order: 2 } },
    ],
    effects: ({ data }: { data: unknown }) => [`{"event":"paid","data":${JSON.stringify(data)}}`],
  },
  {
    page: "docs/task-types.md",
    type: "orders.export",
    inputs: [{ day: "2027-01-01" }, { day: "2027-01-02" }],
    answer: () => Response.json({ total: 1, orders: [{ id: "1", customer: "Ada", amount: "3.00" }], next: null }),
    effects: ({ day }: { day: string }) => [`fetch GET http://shop.test/orders?day=${day}`],
  },
  {
    page: "docs/task-types.md",
    type: "contacts.import",
    inputs: [{ source: "https://a.example.com/contacts" }, { source: "https://b.example.com/contacts" }],
    answer: pagesOf([{ id: "7", email: ada.to }], []),
    effects: ({ source }: { source: string }) => [
      `${source}?page=1`,
      `${source}?page=2`,
      "fetch PUT http://crm.test/contacts/7",
    ],
  },
  {
    page: "docs/task-types.md",
    type: "mail.send",
    inputs: [ada, bob],
    answer: () => Response.json({ id: "m1" }),
    effects: ({ to }: typeof ada) => [`"to":"${to}"`],
  },
  {
    page: "docs/task-types.md",
    type: "stock.sync",
    inputs: [{ article: "A-1" }, { article: "A-2" }],
    answer: ({ url }) => Response.json({ article: new URL(url).pathname.split("/")[2], pieces: 3 }),
    effects: ({ article }: { article: string }) => [`fetch GET http://stock.test/stock/${article}`],
  },
  {
    page: "docs/testing.md",
    type: "welcome.send",
    text: 'return "sent"',
    inputs: [{ email: ada.to }, { email: bob.to }],
    kept: { of: ({ inbox }) => inbox, is: [ada.to, bob.to] },
  },
  {
    page: "docs/testing.md",
    type: "welcome.send",
    text: "welcome/",
    inputs: [{ email: ada.to }, { email: bob.to }],
    kept: { of: ({ inbox }) => [...(inbox as Map<string, string>).values()], is: [ada.to, bob.to] },
  },
  {
    page: "docs/testing.md",
    type: "text.shout",
    inputs: [{}, {}],
    options: { files: { text: new File(["hello"], "a.txt", { type: "text/plain" }) } },
    results: [expect.objectContaining({ fileName: "loud-a.txt" }), expect.objectContaining({ fileName: "loud-a.txt" })],
  },
  {
    page: "docs/testing.md",
    type: "expenses.pay_out",
    inputs: [{ report: "r1" }, { report: "r2" }],
    options: { signals: [{ name: "approved", body: { by: "ada" } }] },
    kept: { of: ({ paid }) => paid, is: ["r1", "r2"] },
  },
  {
    page: "docs/testing.md",
    type: "bill.send_all",
    inputs: [{ customers: ["ada", "bob"] }, { customers: ["eve"] }],
    results: [
      { total: 2, sent: 2 },
      { total: 1, sent: 1 },
    ],
  },
  {
    page: "docs/testing.md",
    type: "mail.send",
    text: "test/stand-ins",
    inputs: [{ to: ada.to }, { to: bob.to }],
    results: [{ id: "not sent" }, { id: "not sent" }],
  },
  {
    page: "docs/upgrades.md",
    type: "mail.send",
    inputs: [
      { to: [ada.to], locale: "en" },
      { to: [bob.to], locale: "de" },
    ],
    effects: ({ to: [to], locale }: { to: string[]; locale: string }) => [`send ["${to}"] ${locale}`],
  },
];

/** A program that calls the API, or a function of one, and what it does once. */
interface ProgramCase {
  page: string;
  /** A text of the block alone. */
  text: string;
  /** Calls a function of it. Default: the program runs when it is loaded. */
  call?(module: BlockModule): unknown;
  effects: readonly string[];
}

const programCases: ProgramCase[] = [
  { page: "README.md", text: '"link.check"', effects: ['client.submit link.check {"url"', "client.result"] },
  { page: "docs/api.md", text: '"link.check"', effects: ['client.submit link.check {"url"'] },
  {
    page: "docs/client.md",
    text: 'submit("invoice.generate"',
    effects: ["client.submit invoice.generate", "client.result"],
  },
  { page: "docs/client.md", text: 'submit("mail.send"', effects: ['client.submit mail.send {"to":"ada@example.com"}'] },
  {
    page: "docs/client.md",
    text: "submitMany",
    effects: ["client.submitMany mail.send", "console.log t1", "console.log t1"],
  },
  {
    page: "docs/debugging.md",
    text: "const post =",
    call: ({ post }) => (post as (body: string) => unknown)("one"),
    effects: ["fetch POST https://ledger.example.com/entries one"],
  },
  {
    page: "docs/direct-submit.md",
    text: "createDirectClient",
    call: async ({ handler }) => {
      for (const id of ["1", "2"]) await (handler as (order: object) => unknown)({ id });
    },
    effects: ['{"id":"1"} {"idempotencyKey":"invoice-1"}', '{"id":"2"} {"idempotencyKey":"invoice-2"}'],
  },
  {
    page: "docs/faq.md",
    text: "client.progress",
    effects: ["client.submit orders.export", "client.progress", "console.log completed"],
  },
  {
    page: "docs/push.md",
    text: "function channelUrl",
    call: ({ channelUrl }) => (channelUrl as () => unknown)(),
    effects: ["fetch POST https://tasks.example.com/channels"],
  },
  { page: "docs/steps.md", text: "client.signal(", effects: ['client.signal t1 payment {"paid":true}'] },
  { page: "docs/unique.md", text: 'mode: "debounce"', effects: ["client.submit report.daily"] },
];

/** The blocks that run nowhere here. The list only gets shorter. */
const notRun = [
  {
    page: "docs/client.md",
    text: "client.download(task",
    why: "it reads a film of the reader's; examples/video-upload has the same calls",
  },
  {
    page: "docs/existing-project.md",
    text: '"use server"',
    why: "a part of a Next app: its import is the app's own client",
  },
  {
    page: "docs/existing-project.md",
    text: "LinkForm",
    why: "a component of a Next app, which needs React and a browser",
  },
  {
    page: "docs/files.md",
    text: "openAsBlob",
    why: "it reads a table of the reader's; test/client/files.test.ts has the same calls",
  },
  {
    page: "docs/files.md",
    text: "compactDecrypt",
    why: "it opens what a server has sealed: test/local/encrypted-result.test.ts",
  },
  {
    page: "docs/push.md",
    text: "new WebSocket",
    why: "it needs a server of channels: test/local/channels.test.ts",
  },
  {
    page: "docs/testing.md",
    text: "startLocalServer",
    why: "it starts a server: test/local/testing-http-guide.test.ts is the same file",
  },
];
const mostNotRun = 7;

function pick({ to, text }: typeof ada) {
  return { to, text };
}

/** The one block of a page that has this text. */
function blockOf(page: string, text: string): Fence {
  const [found, ...others] = effectBlocks.filter((block) => block.page === page && block.text.includes(text));
  if (found === undefined || others.length > 0)
    expect.fail(`${others.length + (found ? 1 : 0)} blocks of ${page} have ${text}`);
  return found as Fence;
}

const blockOfCase = ({ page, type, text }: TaskCase): Fence => blockOf(page, text ?? `name: "${type}"`);

const blocks = new PageBlocks();
afterAll(() => blocks[Symbol.dispose]());
beforeEach(() => {
  for (const service of ["SHOP", "CRM", "MAIL", "STOCK"])
    vi.stubEnv(`${service}_URL`, `http://${service.toLowerCase()}.test`);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

test.each(taskCases)("each of two tasks of $page $type has its effect", async (one) => {
  const { module, effects, types } = await blocks.run(blockOfCase(one), one.answer);
  const type = types.get(one.type) ?? expect.fail(`the block defines ${[...types.keys()]}`);
  const kit = testKit([...types.values()]);
  for (const [index, input] of one.inputs.entries()) {
    const before = effects.length;
    const outcome = await kit.run(type as DefinedTask<unknown, unknown>, input, one.options);
    expect([outcome.status, outcome.error]).toEqual(["completed", undefined]);
    if (one.results !== undefined) expect(outcome.result).toEqual(one.results[index]);
    const done = effects.slice(before);
    for (const effect of one.effects?.(input as never, index) ?? []) {
      expect(done.filter((call) => call.includes(effect))).toEqual([expect.any(String)]);
    }
  }
  if (one.kept !== undefined) expect(one.kept.of(module)).toEqual(one.kept.is);
  expect(one.effects ?? one.results ?? one.kept).toBeDefined();
});

test.each(programCases)("the program of $page with $text does what it says", async ({ page, text, call, effects }) => {
  const ran = await blocks.run(blockOf(page, text));
  await call?.(ran.module);
  expect(ran.effects).toEqual(effects.map((effect) => expect.stringContaining(effect)));
});

describe("the tests within the blocks pass", () => {
  test.each([
    { page: "docs/testing.md", text: "welcome/" },
    { page: "docs/testing.md", text: "text.shout" },
    { page: "docs/testing.md", text: "expenses.pay_out" },
    { page: "docs/testing.md", text: "bill.send_all" },
  ])("$text", async ({ page, text }) => {
    const { tests } = await blocks.run(blockOf(page, text));
    expect(tests.length).toBeGreaterThan(0);
    for (const { run } of tests) await run();
  });
});

test("a block whose second task has no effect is found", async () => {
  const block = blockOf("docs/moving.md", 'name: "mail.send"');
  const copied = { ...block, line: 0, text: block.text.replace("task.step(", "task.once(") };
  expect(copied.text).not.toBe(block.text);
  using planted = new PageBlocks([copied]);
  const { effects, types } = await planted.run(copied);
  const [type] = [...types.values()];
  const kit = testKit([...types.values()]);
  for (const input of [pick(ada), pick(bob)]) await kit.run(type as DefinedTask<unknown, unknown>, input);
  expect(effects).toEqual([expect.stringContaining("sendMail ada@example.com")]);
});

test("every block with an effect runs, but for a list that only gets shorter", () => {
  const run = [...taskCases.map(blockOfCase), ...programCases.map(({ page, text }) => blockOf(page, text))];
  const listed = [...run, ...notRun.map(({ page, text }) => blockOf(page, text))];
  const missing = effectBlocks.filter((block) => !listed.includes(block));
  expect(missing.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
  expect(new Set(listed).size).toBeGreaterThan(40);
  expect(notRun.length).toBeLessThanOrEqual(mostNotRun);
});
