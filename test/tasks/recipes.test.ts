import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { testKit } from "offload/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import contactsImport from "../../examples/recipes/contacts.import.ts";
import mailSend from "../../examples/recipes/mail.send.ts";
import ordersExport from "../../examples/recipes/orders.export.ts";
import stockSync from "../../examples/recipes/stock.sync.ts";
import webhookSend from "../../examples/recipes/webhook.send.ts";

/* The recipes of docs/cookbook.md. */

interface Call {
  method: string | undefined;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
}

let calls: Call[] = [];
let answer: (call: Call) => Answer = () => ({});
const server = createServer(async (request, response) => {
  const call = { method: request.method, url: request.url ?? "", headers: request.headers, body: await text(request) };
  calls.push(call);
  const { status = 200, headers = {}, body } = answer(call);
  response.writeHead(status, headers).end(body === undefined ? "" : JSON.stringify(body));
});

let base = "";
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const name of ["SHOP_URL", "CRM_URL", "MAIL_URL", "STOCK_URL"]) process.env[name] = base;
});
afterAll(() => void server.close());
beforeEach(() => {
  calls = [];
});

test.each(["webhook.send", "orders.export", "contacts.import", "mail.send", "stock.sync"])(
  "docs/cookbook.md has the code of %s",
  (name) => {
    const code = readFileSync(`examples/recipes/${name}.ts`, "utf8");
    expect(readFileSync("docs/cookbook.md", "utf8")).toContain(`\`\`\`ts\n// tasks/${name}.ts\n${code}\`\`\`\n`);
  },
);

test("a webhook is repeated with the same idempotency key, after the time that the receiver asks for", async () => {
  const answers: Answer[] = [{ status: 423 }, { status: 429, headers: { "retry-after": "90" } }, { status: 200 }];
  answer = () => answers[calls.length - 1] ?? {};
  const input = { url: `${base}/hook`, event: "order.paid", data: { order: 7 } };
  const outcome = await testKit([webhookSend]).run(webhookSend, input);
  expect(outcome.result).toEqual({ status: 200 });
  expect(outcome.attempts.map(({ waitSeconds }) => waitSeconds)).toEqual([600, 120, undefined]);
  expect(new Set(calls.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
  expect(calls[0]?.body).toBe('{"event":"order.paid","data":{"order":7}}');
});

test("an export reads every page, reports its progress and returns a file without formulas", async () => {
  const orders = (from: number) => [from, from + 1].map((id) => ({ id: `${id}`, customer: '=A1 "x"', amount: "9.50" }));
  answer = ({ url }) =>
    url.endsWith("page=2")
      ? { body: { total: 4, orders: orders(3), next: null } }
      : { body: { total: 4, orders: orders(1), next: "/orders?day=2027-01-01&page=2" } };
  const outcome = await testKit([ordersExport]).run(ordersExport, { day: "2027-01-01" });
  expect(outcome.progress).toEqual([50, 100]);
  expect(outcome.result?.fileName).toBe("orders-2027-01-01.csv");
  const lines = Buffer.from(outcome.result?.bytes ?? [])
    .toString()
    .split("\r\n");
  expect(lines.slice(0, 2)).toEqual(["id,customer,amount", `"1","'=A1 ""x""","9.50"`]);
  expect(lines).toHaveLength(6);
});

test("an import has each contact, and one task for each page, also when a worker dies", async () => {
  const pages = [["1", "2"], ["3"], []];
  answer = ({ url }) => ({
    body: pages[Number(/page=(\d)/.exec(url)?.[1] ?? 1) - 1]?.map((id) => ({ id, email: `${id}@example.com` })),
  });
  const input = { source: `${base}/contacts`, page: 1 };
  const whole = await testKit([contactsImport]).run(contactsImport, input);
  const steps = whole.attempts[0]?.steps ?? [];
  for (const step of steps.keys()) {
    calls = [];
    const faults = [{ step: step + 1, how: "crash" }] as const;
    const outcome = await testKit([contactsImport]).run(contactsImport, input, { faults });
    expect(outcome.status).toBe("completed");
    expect(outcome.submitted).toHaveLength(1);
    const saved = calls.filter(({ method }) => method === "PUT").map(({ url }) => url);
    expect(new Set(saved)).toEqual(new Set(["/contacts/1", "/contacts/2", "/contacts/3"]));
  }
});

test("a mail is sent once, a blocked recipient fails for good, and the log does not contain the address", async () => {
  answer = ({ body }) => (body.includes("blocked") ? { status: 403 } : { body: { id: "m-1" } });
  const mail = { subject: "Hello", text: "Welcome." };
  const sent = await testKit([mailSend]).run(mailSend, { to: "ada@example.com", ...mail }, { deliverTwice: true });
  expect(sent.result).toEqual({ id: "m-1" });
  expect(calls).toHaveLength(1);
  const blocked = await testKit([mailSend]).run(mailSend, { to: "blocked@example.com", ...mail });
  expect(blocked).toMatchObject({ status: "failed", errorKind: "permanent", deadLetter: true });
  expect(JSON.stringify(blocked.log)).not.toContain("blocked@example.com");
});

test("a call of a rate-limited API waits until its quota is renewed", async () => {
  const resetsAt = String(Date.now() / 1000 + 300);
  const exhausted = { status: 403, headers: { "x-ratelimit-reset": resetsAt } };
  answer = () => (calls.length === 1 ? exhausted : { body: { article: "A-1", pieces: 4 } });
  const outcome = await testKit([stockSync]).run(stockSync, { article: "A-1" });
  expect(outcome.result).toEqual({ article: "A-1", pieces: 4 });
  expect(outcome.attempts[0]?.waitSeconds).toBeGreaterThanOrEqual(299);
});
