import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { BusEvent } from "../src/core/schedules/bus-event.ts";
import { fill } from "../src/core/schedules/event-path.ts";
import { matchesPattern } from "../src/core/schedules/pattern.ts";
import { scheduleIdOf } from "../src/core/schedules/schedule-record.ts";
import type { AppTrigger } from "../src/core/schedules/trigger.ts";
import type { DefinedTask } from "../src/core/task/task.ts";
import { type RunOptions, testKit } from "../src/testkit/kit.ts";
import { sectionsOf, withParts } from "../src/tools/cli/docs-pages.ts";
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
  /** Both tasks fail with this error, which is what the block shows. */
  fails?: string;
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
    page: "docs/README.md",
    type: "link.check",
    inputs: [{ url: "https://a.example.com/" }, { url: "https://b.example.com/" }],
    fails: "failed on purpose",
  },
  {
    page: "README.md",
    type: "link.check",
    inputs: [{ url: "https://a.example.com/" }, { url: "https://b.example.com/" }],
    fails: "failed on purpose",
  },
  {
    page: "docs/collect.md",
    type: "events.store",
    inputs: [
      { user: "ada", event: "login" },
      { user: "bob", event: "logout" },
    ],
    effects: () => ["fetch POST https://store.example.com/rows"],
    results: [{ stored: 1 }, { stored: 1 }],
  },
  {
    page: "docs/collect.md",
    type: "rows.push",
    inputs: [
      { customer: "a", row: "1" },
      { customer: "b", row: "2" },
    ],
    effects: ({ customer, row }: { customer: string; row: string }) => [
      `fetch POST https://${customer}.example.com/rows ["${row}"]`,
    ],
  },
  {
    page: "docs/strict-order.md",
    type: "ledger.post",
    inputs: [
      { account: "7", cents: 100 },
      { account: "8", cents: 200 },
    ],
    effects: ({ account }: { account: string }) => [
      `fetch POST https://ledger.example.com/accounts/${account}/entries`,
    ],
  },
  {
    page: "docs/on-failed.md",
    type: "order.pay",
    inputs: [{ order: "41" }, { order: "42" }],
    fails: "the card is refused",
  },
  {
    page: "docs/wait.md",
    type: "chat.hold",
    inputs: [{ customer: "ada" }, { customer: "bob" }],
    options: {
      signals: ["hi", "yes", "bye"].map((text, at) => ({ name: "message", body: { text }, afterSeconds: at })),
    },
    effects: ({ customer }: { customer: string }) =>
      ["hi", "yes", "bye"].map((text) => `fetch POST https://chat.example.com/${customer} got ${text}`),
    results: [{ messages: 3 }, { messages: 3 }],
  },
  {
    page: "docs/cancel.md",
    type: "feed.copy",
    inputs: [{ pages: 1 }, { pages: 2 }],
    effects: ({ pages }: { pages: number }) => [`fetch GET https://feed.example.com/pages/${pages}`],
  },
  {
    page: "docs/children.md",
    type: "site.check_all",
    inputs: [
      { urls: ["https://a.example.com/1"] },
      { urls: ["https://b.example.com/1", "https://b.example.com/gone"] },
    ],
    answer: ({ url }) => (url.endsWith("gone") ? new Response(null, { status: 410 }) : undefined),
    results: [
      { total: 1, completed: 1, broken: [] },
      {
        total: 2,
        completed: 1,
        broken: [{ url: "https://b.example.com/gone", error: expect.stringContaining("410") }],
      },
    ],
  },
  {
    page: "docs/cookbook.md",
    type: "card.charge",
    inputs: [
      { payment: "p1", cents: 100 },
      { payment: "p2", cents: 200 },
    ],
    answer: async (request) =>
      (await request.text()).includes("p2") ? new Response(null, { status: 402 }) : undefined,
    effects: (input: { payment: string }) => [`fetch POST http://shop.test/charges ${JSON.stringify(input)}`],
    results: [{ charged: true }, { charged: false }],
  },
  {
    page: "docs/cookbook.md",
    type: "ticket.answer",
    inputs: [
      { ticket: "t1", question: "why?" },
      { ticket: "t2", question: "when?" },
    ],
    answer: ({ url }) => (url.endsWith("/answers") ? Response.json({ text: "Because." }) : undefined),
    effects: ({ ticket, question }: { ticket: string; question: string }) => [
      `{"question":"${question}"}`,
      `fetch PUT http://crm.test/tickets/${ticket}/draft Because.`,
    ],
  },
  {
    page: "docs/cookbook.md",
    type: "product.change",
    inputs: [
      { product: "a", change: "red" },
      { product: "b", change: "blue" },
    ],
    effects: ({ product, change }: { product: string; change: string }) => [
      `fetch PATCH http://shop.test/products/${product} ${change}`,
      `fetch PUT https://search.example.com/products/${product}`,
    ],
  },
  {
    page: "docs/cookbook.md",
    type: "newsletter.send",
    inputs: [
      { issue: "7", recipients: [ada.to, bob.to] },
      { issue: "8", recipients: [ada.to] },
    ],
    effects: ({ issue, recipients }: { issue: string; recipients: string[] }) =>
      recipients.map((to) => `sendMail {"to":"${to}","issue":"${issue}"`),
    results: [
      { sent: 2, refused: 0 },
      { sent: 1, refused: 0 },
    ],
  },
  {
    page: "docs/cookbook.md",
    type: "customer.delete",
    inputs: [{ customer: "c1" }, { customer: "c2" }],
    effects: ({ customer }: { customer: string }) =>
      ["shop", "crm", "mail"].map((system) => `fetch DELETE https://${system}.example.com/customers/${customer}`),
  },
  {
    page: "docs/cookbook.md",
    type: "carts.clean",
    inputs: [{ days: 30 }, { days: 60 }],
    answer: () => Response.json({ deleted: 3, more: false }),
    effects: ({ days }: { days: number }) => [`fetch DELETE http://shop.test/carts?older_than_days=${days}`],
    results: [{ deleted: 3 }, { deleted: 3 }],
  },
  {
    page: "docs/cookbook.md",
    type: "outbox.sweep",
    inputs: [{ olderThanSeconds: 1 }, { olderThanSeconds: 2 }],
    answer: ({ method, url }) =>
      method === "GET" ? Response.json([{ id: `row-${url.at(-1)}`, to: ada.to }]) : undefined,
    effects: ({ olderThanSeconds: n }: { olderThanSeconds: number }) => [
      `sendMail {"to":"${ada.to}","id":"row-${n}"`,
      `fetch DELETE http://shop.test/outbox/row-${n}`,
    ],
  },
  {
    page: "docs/do-it-once.md",
    type: "receipt.send",
    inputs: [
      { order: "1", to: ada.to },
      { order: "2", to: bob.to },
    ],
    effects: ({ order, to }: { order: string; to: string }) => [`sendMail {"to":"${to}","order":"${order}"`],
  },
  { page: "docs/errors.md", type: "entry.count", inputs: [{ entries: ["a"] }, { entries: [] }], results: [1, 0] },
  {
    page: "docs/from-pg-boss.md",
    type: "mail.send",
    inputs: [pick(ada), pick(bob)],
    effects: mailed,
  },
  {
    page: "docs/from-workflow-sdk.md",
    type: "user.onboard",
    inputs: [{ to: ada.to }, { to: bob.to }],
    effects: ({ to }: typeof ada) => [`sendMail ${to}`, `sendTips ${to}`],
  },
  {
    page: "docs/from-agenda.md",
    type: "report.shop",
    inputs: [{ shop: "7" }, { shop: "8" }],
    effects: ({ shop }: { shop: string }) => [`report ${shop}`],
  },
  {
    page: "docs/from-trigger-dev.md",
    type: "welcome.send",
    inputs: [{ to: ada.to }, { to: bob.to }],
    effects: ({ to }: typeof ada) => [`sendMail ${to}`, `sendTips ${to}`],
  },
  {
    page: "docs/pauses.md",
    type: "ledger.write",
    inputs: [{ entry: "one" }, { entry: "two" }],
    effects: ({ entry }: { entry: string }) => [`fetch POST https://ledger.example.com/entries ${entry}`],
  },
  {
    page: "docs/pauses.md",
    type: "order.push",
    inputs: [
      { customer: "a", order: "1" },
      { customer: "b", order: "2" },
    ],
    effects: ({ customer, order }: { customer: string; order: string }) => [
      `fetch PUT https://${customer}.example.com/orders/${order}`,
    ],
  },
  {
    page: "docs/rate-limits.md",
    type: "invoice.push",
    inputs: [
      { customer: "a", invoice: "1" },
      { customer: "b", invoice: "2" },
    ],
    effects: ({ customer, invoice }: { customer: string; invoice: string }) => [
      `fetch PUT https://${customer}.example.com/invoices/${invoice}`,
    ],
  },
  {
    page: "docs/rate-limits.md",
    type: "mail.push",
    inputs: [{ to: "one" }, { to: "two" }],
    effects: ({ to }: { to: string }) => [`fetch POST https://mail.example.com/push ${to}`],
  },
  {
    page: "docs/rate-limits.md",
    type: "site.crawl",
    inputs: [
      { customer: "a", seats: 2, url: "https://a.example.com/" },
      { customer: "b", seats: 1, url: "https://b.example.com/" },
    ],
    effects: ({ url }: { url: string }) => [`fetch GET ${url}`],
  },
  {
    page: "docs/rate-limits.md",
    type: "map.geocode",
    inputs: [{ address: "one" }, { address: "two" }],
    effects: ({ address }: { address: string }) => [`fetch GET https://maps.example.com/search?q=${address}`],
  },
  {
    page: "docs/run-children.md",
    type: "order.bill",
    inputs: [{ order: "1" }, { order: "2" }],
    effects: ({ order }: { order: string }) => [`fetch POST https://render.example.com/${order}?copy`],
    answer: ({ url }) => Response.json({ url }),
    results: [
      { bill: "https://render.example.com/1", copy: "https://render.example.com/1?copy" },
      { bill: "https://render.example.com/2", copy: "https://render.example.com/2?copy" },
    ],
  },
  {
    page: "docs/step-retries.md",
    type: "order.pay",
    inputs: [{ order: "1" }, { order: "2" }],
    effects: ({ order }: { order: string }) => [`fetch POST https://pay.example.com/charges/${order}`],
    answer: ({ url }) => Response.json({ id: new URL(url).pathname }),
    results: [{ charge: "/charges/1" }, { charge: "/charges/2" }],
  },
  {
    page: "docs/steps.md",
    type: "trip.book",
    inputs: [{ trip: "1" }, { trip: "2" }],
    answer: ({ url }) => Response.json({ id: new URL(url).pathname }),
    results: [
      { hotel: "/trips/1/hotel", flight: "/trips/1/flight" },
      { hotel: "/trips/2/hotel", flight: "/trips/2/flight" },
    ],
  },
  {
    page: "docs/task-options.md",
    type: "video.render",
    inputs: [{ video: "a" }, { video: "b" }],
    results: [null, null],
  },
  {
    page: "docs/temporal-and-step-functions.md",
    type: "user.onboard",
    inputs: [{ to: ada.to }, { to: bob.to }],
    options: { signals: [{ name: "confirmed", body: {} }] },
    effects: ({ to }: typeof ada) => [`sendMail ${to}`, `sendTips ${to}`],
  },
  {
    page: "docs/tutorial-1.md",
    type: "report.make",
    inputs: [
      { shop: "6", month: "2027-01" },
      { shop: "7", month: "2027-02" },
    ],
    results: [
      { shop: "6", month: "2027-01", orders: 2, cents: 1650 },
      { shop: "7", month: "2027-02", orders: 2, cents: 1650 },
    ],
  },
  {
    page: "docs/tutorial-2.md",
    type: "report.make",
    inputs: [
      { shop: "6", month: "2027-01" },
      { shop: "7", month: "2027-02" },
    ],
    answer: () => Response.json([{ cents: 5 }]),
    effects: ({ shop, month }: { shop: string; month: string }) => [
      `fetch GET http://shop.test/shops/${shop}/orders?month=${month}`,
    ],
  },
  {
    page: "docs/tutorial-3.md",
    type: "report.send",
    inputs: [
      { to: ada.to, shop: "6" },
      { to: bob.to, shop: "7" },
    ],
    effects: ({ to, shop }: { to: string; shop: string }) => [
      `fetch POST http://mail.test/mails {"to":"${to}","subject":"The report of shop ${shop}"}`,
    ],
  },
  {
    page: "docs/tutorial-4.md",
    type: "report.all",
    inputs: [{ month: "2027-01" }, { month: "2027-02" }],
    results: [
      { total: 7, completed: 7, cents: 11_550 },
      { total: 7, completed: 7, cents: 11_550 },
    ],
  },
  {
    page: "docs/wait.md",
    type: "expense.approve",
    inputs: [
      { report: "r1", manager: ada.to },
      { report: "r2", manager: bob.to },
    ],
    options: { signals: [{ name: "decision", body: { approved: true } }] },
    effects: ({ report, manager }: { report: string; manager: string }) => [
      `sendMail {"to":"${manager}","report":"${report}"`,
    ],
  },
  {
    page: "docs/wait.md",
    type: "invoice.approve",
    inputs: [
      { invoice: "i1", to: ada.to },
      { invoice: "i2", to: bob.to },
    ],
    options: { signals: [{ name: "decision", body: { approved: true } }] },
    effects: ({ invoice, to }: { invoice: string; to: string }) => [
      `sendMail {"to":"${to}","invoice":"${invoice}","url":"http`,
    ],
    results: [{ approved: true }, { approved: true }],
  },
  {
    page: "docs/wait.md",
    type: "trial.remind",
    inputs: [{ to: ada.to }, { to: bob.to }],
    effects: ({ to }: { to: string }) => [`sendMail ${to} Welcome`, `sendMail ${to} Three tips`],
  },
  {
    page: "docs/wait.md",
    type: "export.fetch",
    inputs: [{ job: "j1" }, { job: "j2" }],
    answer: ({ url }) => Response.json({ state: "done", url: `${url}.csv` }),
    results: [{ url: "https://export.example.com/jobs/j1.csv" }, { url: "https://export.example.com/jobs/j2.csv" }],
  },
  {
    page: "docs/write-a-task.md",
    type: "page.archive",
    inputs: [{ url: "https://a.example.com/" }, { url: "https://b.example.com/" }],
    effects: ({ url }: { url: string }) => [`fetch GET ${url}`],
  },
  {
    page: "docs/write-a-task.md",
    type: "order.place",
    inputs: [
      { order: "1", to: ada.to },
      { order: "2", to: bob.to },
    ],
    results: [
      { order: "1", mail: expect.any(String) },
      { order: "2", mail: expect.any(String) },
    ],
  },
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
    page: "docs/monitoring.md",
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
    page: "docs/children.md",
    type: "bill.send",
    inputs: [
      { customer: "ada", month: "2027-01" },
      { customer: "bob", month: "2027-01" },
    ],
    effects: () => ["console.log send the bill here"],
  },
  {
    page: "docs/children.md",
    type: "bill.send_all",
    inputs: [{ month: "2027-01" }, { month: "2027-02" }],
    results: [
      { total: 2, completed: 2, cents: 8400 },
      { total: 2, completed: 2, cents: 8400 },
    ],
  },
  {
    page: "docs/stop-children.md",
    type: "frame.render_all",
    inputs: [{ frames: [1, 2] }, { frames: [3] }],
    results: [
      { total: 2, completed: 2 },
      { total: 1, completed: 1 },
    ],
  },
  {
    page: "docs/children.md",
    type: "talk.publish",
    inputs: [{}, {}],
    options: { files: { video } },
    effects: () => ["console.log cut talk.mp4 to 1080", "console.log cut talk.mp4 to 360"],
  },
  {
    page: "docs/schedules-in-code.md",
    type: "shop.open",
    inputs: [
      { shop: "ada", timezone: "Europe/Berlin" },
      { shop: "bob", timezone: "UTC" },
    ],
    results: [scheduleIdOf("test-tenant", "report-of-ada"), scheduleIdOf("test-tenant", "report-of-bob")],
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
    page: "docs/results.md",
    type: "rows.export",
    inputs: [{ count: 1 }, { count: 2 }],
    results: [
      expect.objectContaining({ fileName: "rows.csv.gz" }),
      expect.objectContaining({ fileName: "rows.csv.gz" }),
    ],
  },
  {
    page: "docs/rate-limits.md",
    type: "crm.update",
    inputs: [
      { account: "7", fields: { name: "Ada" } },
      { account: "8", fields: { name: "Bob" } },
    ],
    effects: ({ account }: { account: string }) => [`fetch PATCH https://crm.example.com/accounts/${account} {`],
  },
  { page: "docs/from-bullmq.md", type: "mail.send", inputs: [pick(ada), pick(bob)], effects: mailed },
  {
    page: "docs/from-inngest.md",
    type: "user.welcome",
    inputs: [{ to: ada.to }, { to: bob.to }],
    effects: ({ to }: typeof ada) => [`sendMail ${to}`, `sendTips ${to}`],
  },
  {
    page: "docs/from-sqs-and-lambda.md",
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
    page: "docs/handler-code.md",
    type: "parcel.weigh",
    inputs: [{ grams: 500 }, { grams: 2_000 }],
    results: [{ kilograms: 0.5 }, { kilograms: 2 }],
  },
  {
    page: "docs/long-work.md",
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
    page: "docs/write-a-task.md",
    type: "report.daily",
    inputs: [{ day: "2027-01-01" }, { day: "2027-01-02" }],
    results: [
      { day: "2027-01-01", pages: 3 },
      { day: "2027-01-02", pages: 3 },
    ],
  },
  {
    page: "docs/write-a-task.md",
    type: "seat.book",
    inputs: [
      { show: "a", seats: 1 },
      { show: "a", seats: 5 },
    ],
    results: [{ free: 3 }, { free: 4 }],
  },
  {
    page: "docs/errors.md",
    type: "ledger.post",
    inputs: [{ entry: "one" }, { entry: "two" }],
    effects: ({ entry }: { entry: string }) => [`fetch POST https://ledger.example.com/entries ${entry}`],
  },
  {
    page: "docs/errors.md",
    type: "ledger.close",
    inputs: [{ month: "2027-01" }, { month: "2027-02" }],
    effects: ({ month }: { month: string }) => [`fetch POST https://ledger.example.com/close ${month}`],
  },
  {
    page: "docs/cookbook.md",
    type: "webhook.send",
    inputs: [
      { url: "https://shop.example.com/hook", event: "paid", data: { order: 1 } },
      { url: "https://shop.example.com/hook", event: "paid", data: { order: 2 } },
    ],
    effects: ({ data }: { data: unknown }) => [`{"event":"paid","data":${JSON.stringify(data)}}`],
  },
  {
    page: "docs/cookbook.md",
    type: "orders.export",
    inputs: [{ day: "2027-01-01" }, { day: "2027-01-02" }],
    answer: () => Response.json({ total: 1, orders: [{ id: "1", customer: "Ada", amount: "3.00" }], next: null }),
    effects: ({ day }: { day: string }) => [`fetch GET http://shop.test/orders?day=${day}`],
  },
  {
    page: "docs/cookbook.md",
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
    page: "docs/cookbook.md",
    type: "mail.send",
    inputs: [ada, bob],
    answer: () => Response.json({ id: "m1" }),
    effects: ({ to }: typeof ada) => [`"to":"${to}"`],
  },
  {
    page: "docs/cookbook.md",
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
    type: "trial.remind",
    inputs: [{ customer: "ada" }, { customer: "bob" }],
    results: ["the trial of ada ends tomorrow", "the trial of bob ends tomorrow"],
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
    page: "docs/end-to-end-tests.md",
    type: "mail.send",
    text: "test/stand-ins",
    inputs: [{ to: ada.to }, { to: bob.to }],
    results: [{ id: "not sent" }, { id: "not sent" }],
  },
  {
    page: "docs/change-a-task.md",
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
  {
    page: "docs/client.md",
    text: "delaySeconds: 3 * 86_400",
    effects: [
      'client.submit mail.send {"to":"ada@example.com"} {"delaySeconds":259200}',
      'client.submit mail.send {"to":"bob@example.com"} {"runAt":"2027-01-04T08:00:00.000Z"}',
    ],
  },
  {
    page: "docs/do-it-once.md",
    text: 'idempotencyKey: "welcome-4711" });',
    effects: ["client.submit mail.send", "client.submit report.daily"],
  },
  {
    page: "docs/many-tasks.md",
    text: 'client.submitMany("mail.send", mails',
    effects: ["client.submitMany mail.send", "console.log t1", "console.log t1"],
  },
  {
    page: "docs/tutorial-5.md",
    text: "createClient<typeof tasks>",
    effects: ['client.submit report.make {"shop":"7"', "client.result", "console.log"],
  },
  { page: "README.md", text: 'submit("link.check"', effects: ['client.submit link.check {"url"', "client.result"] },
  { page: "docs/api-tasks.md", text: '"link.check"', effects: ['client.submit link.check {"url"'] },
  {
    page: "docs/client.md",
    text: 'submit("invoice.generate"',
    effects: ["client.submit invoice.generate", "client.result"],
  },
  {
    page: "docs/client.md",
    text: 'runAt: new Date("2027-01-01',
    effects: ['client.submit mail.send {"to":"ada@example.com"}'],
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
    page: "docs/web-pages.md",
    text: "client.progress(task)) console.log(status, progress);\n",
    effects: ["client.submit orders.export", "client.progress", "console.log completed"],
  },
  {
    page: "docs/push.md",
    text: "function channelUrl",
    call: ({ channelUrl }) => (channelUrl as () => unknown)(),
    effects: ["fetch POST https://tasks.example.com/channels"],
  },
  { page: "docs/wait.md", text: "client.signal(", effects: ['client.signal t1 decision {"approved":true}'] },
  {
    page: "docs/collect.md",
    text: 'mode: "collect"',
    effects: ["client.submit events.store", "console.log t1"],
  },
  { page: "docs/restart.md", text: 'mode: "restart"', effects: ["client.submit report.daily"] },
  { page: "docs/unique.md", text: 'mode: "debounce"', effects: ["client.submit report.daily"] },
  {
    page: "docs/keys.md",
    text: "client.cancel(publish)",
    effects: ["client.submit post.publish", "client.task", "client.status", "client.cancel"],
  },
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
    page: "docs/results.md",
    text: "compactDecrypt",
    why: "it opens what a server has sealed: test/local/encrypted-result.test.ts",
  },
  {
    page: "docs/push.md",
    text: "new WebSocket",
    why: "it needs a server of channels: test/local/channels.test.ts",
  },
  {
    page: "docs/end-to-end-tests.md",
    text: "startLocalServer, type TestServer",
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
    const end = one.fails === undefined ? ["completed", undefined] : ["failed", one.fails];
    expect([outcome.status, outcome.error]).toEqual(end);
    if (one.results !== undefined) expect(outcome.result).toEqual(one.results[index]);
    const done = effects.slice(before);
    for (const effect of one.effects?.(input as never, index) ?? []) {
      expect(done.filter((call) => call.includes(effect))).toEqual([expect.any(String)]);
    }
  }
  if (one.kept !== undefined) expect(one.kept.of(module)).toEqual(one.kept.is);
  expect(one.effects ?? one.results ?? one.kept ?? one.fails).toBeDefined();
});

test.each(programCases)("the program of $page with $text does what it says", async ({ page, text, call, effects }) => {
  const ran = await blocks.run(blockOf(page, text));
  await call?.(ran.module);
  expect(ran.effects).toEqual(effects.map((effect) => expect.stringContaining(effect)));
});

/** Each trigger of a block takes two of these events, and leaves one. */
const triggerCases = [
  {
    page: "docs/alerts.md",
    text: 'name: "task.failed"',
    events: ["pdf.make", "mail.send"].map((type) => eventOf("offload.shop", "Task Failed", failureOf(type))),
    other: eventOf("offload.shop", "Task Failed", failureOf("alert.send")),
    tenant: "acme",
    becomes: ["pdf.make", "mail.send"].map((type) => ({ task: "t1", type, error: "no paper" })),
  },
  {
    page: "docs/triggers.md",
    text: 'name: "upload.convert"',
    events: ["videos/a.mp4", "videos/b.mp4"].map((key) => eventOf("aws.s3", "Object Created", uploadOf(key))),
    other: eventOf("aws.s3", "Object Created", uploadOf("pictures/a.png")),
    tenant: "acme",
    becomes: ["videos/a.mp4", "videos/b.mp4"].map((key) => ({ bucket: "acme-uploads", key, bytes: 7 })),
  },
  {
    page: "docs/triggers.md",
    text: 'name: "order.paid"',
    events: ["41", "42"].map((id) => eventOf("shop", "Paid", { id, tenant: "acme" })),
    other: eventOf("shop", "Refunded", { id: "41", tenant: "acme" }),
    tenant: "acme",
    becomes: ["order-41", "order-42"],
  },
];

function failureOf(type: string) {
  return { task_id: "t1", tenant_id: "acme", type, error: "no paper" };
}
function uploadOf(key: string) {
  return { bucket: { name: "acme-uploads" }, object: { key, size: 7 } };
}
function eventOf(source: string, type: string, detail: Record<string, unknown>) {
  return { id: "e1", source, "detail-type": type, time: "2027-01-01T00:00:00Z", detail } as unknown as BusEvent;
}

test.each(triggerCases)(
  "the trigger of $page with $text makes a task of each of two events, and of no other",
  async (one) => {
    const { module } = await blocks.run(blockOf(one.page, one.text));
    const all = Object.values(module).flat() as (AppTrigger | DefinedTask<never, unknown>)[];
    const trigger = all.find((value): value is AppTrigger => "pattern" in value);
    if (trigger === undefined) return expect.fail(`expected a trigger; the block exports ${Object.keys(module)}`);
    const matches = (event: BusEvent) => matchesPattern(trigger.pattern, { ...event });
    expect([...one.events, one.other].map(matches)).toEqual([true, true, false]);
    expect(one.events.map((event) => fill(trigger.tenant_id, event))).toEqual([one.tenant, one.tenant]);
    const { task, act } = trigger;
    expect(one.events.map((event) => fill(task?.input ?? act?.key, event))).toEqual(one.becomes);
  },
);

/** The blocks with tests of their own. */
const testBlocks = [
  { page: "docs/jobs-you-know.md", text: "test/lead.drip.test.ts" },
  { page: "docs/jobs-you-know.md", text: "test/rows.import.test.ts" },
  { page: "docs/jobs-you-know.md", text: "test/digest.send.test.ts" },
  { page: "docs/jobs-you-know.md", text: "test/hook.call.test.ts" },
  { page: "docs/jobs-you-know.md", text: "test/refund.approve.test.ts" },
  { page: "docs/jobs-you-know.md", text: "test/shops.report.test.ts" },
  { page: "docs/jobs-you-know.md", text: "test/contact.sync.test.ts" },
  { page: "docs/jobs-you-know.md", text: "test/invoice.dun.test.ts" },
  { page: "docs/jobs-you-know.md", text: "test/answer.draft.test.ts" },
  { page: "docs/jobs-you-know.md", text: "test/carts.clean.test.ts" },
  { page: "docs/testing.md", text: "welcome/" },
  { page: "docs/testing.md", text: "text.shout" },
  { page: "docs/testing.md", text: "expenses.pay_out" },
  { page: "docs/testing.md", text: "trial.remind" },
  { page: "docs/testing.md", text: "bill.send_all" },
  { page: "docs/tutorial-3.md", text: "crashEverywhere(" },
];

test.each(testBlocks)("the tests within the block of $page with $text pass", async ({ page, text }) => {
  const { tests } = await blocks.run(blockOf(page, text));
  expect(tests.length).toBeGreaterThan(0);
  for (const { run } of tests) await run();
});

describe("the cookbook has 24 recipes, and each of them runs", () => {
  const recipes = [...readFileSync("docs/cookbook.md", "utf8").matchAll(/^\| \[([^\]]+)\]\(([^)#]*)#?([^)]*)\)/gm)].map(
    ([, name = "", file = "", anchor = ""]) => ({
      name,
      page: file === "" ? "docs/cookbook.md" : `docs/${file}`,
      anchor,
    }),
  );
  const isRun = (block: Fence): boolean =>
    !notRun.some(({ page, text }) => block.page === page && block.text.includes(text));

  test("there are 24", () => {
    expect(new Set(recipes.map(({ name }) => name)).size).toBeGreaterThanOrEqual(24);
  });

  test.each(recipes)("$name", ({ page, anchor }) => {
    const sections = sectionsOf({ page, title: "", about: "" }, readFileSync(page, "utf8"));
    const from = sections.findIndex((section) => section.anchor === anchor);
    expect(from).toBeGreaterThanOrEqual(0);
    // A block within a list is indented.
    const plain = (text: string): string => text.replaceAll(/\s+/g, " ").trim();
    const section = plain(withParts(sections, from));
    const own = effectBlocks.filter((block) => block.page === page && section.includes(plain(block.text)));
    expect(own.filter(isRun).length).toBeGreaterThan(0);
  });
});

test("a block whose second task has no effect is found", async () => {
  const block = blockOf("docs/from-bullmq.md", 'name: "mail.send"');
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
  const listed = [...run, ...[...triggerCases, ...testBlocks, ...notRun].map(({ page, text }) => blockOf(page, text))];
  const missing = effectBlocks.filter((block) => !listed.includes(block));
  expect(missing.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
  expect(new Set(listed).size).toBeGreaterThan(40);
  expect(notRun.length).toBeLessThanOrEqual(mostNotRun);
});
