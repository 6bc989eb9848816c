import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { DefinedTask } from "offload";
import { testKit } from "offload/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { orderOf } from "../demo/orders.ts";
import { startOutside } from "../demo/outside.ts";
import type { Order } from "../shop/order.ts";
import confirm from "../tasks/order.confirm.ts";
import stock from "../tasks/order.stock.ts";
import trending from "../tasks/order.trending.ts";
import webhook from "../tasks/order.webhook.ts";
import plantedStock from "./planted/order.stock.ts";

/*
 * A worker runs attempts of several tenants at the same time. What one attempt keeps outside of its own call, another one can read:
 * then an order of one tenant has an effect on another. So each effect of an order may name one tenant only.
 */

const tenants = ["acme", "globex", "initech"];

/** Effects outside: requests to the shop's server and to receivers of webhooks, and mails. */
const effects: string[] = [];
let waiting: (() => void)[] = [];
/** Number of requests that wait for each other, so that their attempts certainly overlap. */
let together = 1;

const server = createServer(async (request, response) => {
  effects.push(`${request.url} ${request.headers["webhook-id"]} ${await text(request)}`);
  waiting.push(() => response.setHeader("content-type", "application/json").end("{}"));
  if (waiting.length < together) return;
  for (const answer of waiting.splice(0)) answer();
});
let url = "";
let outside: Awaited<ReturnType<typeof startOutside>>;

beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  outside = await startOutside({ onMail: (mail) => effects.push(JSON.stringify(mail)) });
  Object.assign(process.env, { SHOP_URL: url, SHOP_KEY: "key", SMTP_URL: outside.smtpUrl });
});
afterAll(async () => {
  server.close();
  await outside.close();
});
beforeEach(() => {
  effects.length = 0;
  waiting = [];
});

type InputOf<Input> = (order: Order, tenant: string) => Input;

function runFor<Input>(type: DefinedTask<Input, unknown>, inputOf: InputOf<Input>, tenant: string) {
  const order = { ...orderOf(`${tenant}-1`, 2), email: `ada@${tenant}.test` };
  return testKit([type], { tenantId: tenant }).run(type, inputOf(order, tenant));
}

/** The effects that name more than one tenant, when the type's tasks of all tenants run in this process at the same time. */
async function bleeding<Input>(type: DefinedTask<Input, unknown>, inputOf: InputOf<Input>): Promise<string[]> {
  together = tenants.length;
  const outcomes = await Promise.all(tenants.map((tenant) => runFor(type, inputOf, tenant)));
  expect(outcomes.map(({ status }) => status)).toEqual(tenants.map(() => "completed"));
  expect(effects).toHaveLength(tenants.length);
  return effects.filter((effect) => tenants.filter((tenant) => effect.includes(tenant)).length !== 1);
}

const shopOf = (tenant: string) => ({ name: `Books of ${tenant}`, email: `orders@${tenant}.test` });

test("interleaved tasks of several tenants never touch another tenant's stock", async () => {
  expect(await bleeding(stock, (order) => ({ order }))).toEqual([]);
});

test("interleaved tasks of several tenants never count in another tenant's list", async () => {
  expect(await bleeding(trending, (order) => ({ order }))).toEqual([]);
});

test("interleaved tasks of several tenants never tell another tenant's URL", async () => {
  expect(await bleeding(webhook, (order, tenant) => ({ order, url: `${url}/${tenant}` }))).toEqual([]);
});

test("interleaved tasks of several tenants never mail in another tenant's name", async () => {
  expect(await bleeding(confirm, (order, tenant) => ({ order, shop: shopOf(tenant) }))).toEqual([]);
});

test("the check catches a handler whose tenant is a variable of its module", async () => {
  const found = await bleeding(plantedStock, (order) => ({ order }));
  expect(found.length).toBeGreaterThan(0);
  expect(found[0]).toMatch(/^\/tenants\/(\w+)\/stock .*"key":"stock:order:\1:(?!\1)\w+-1"/);
});

test("tasks of several tenants that run one after the other do not show the fault: only interleaved ones do", async () => {
  together = 1;
  for (const tenant of tenants) await runFor(plantedStock, (order) => ({ order }), tenant);
  expect(effects.filter((effect) => tenants.filter((tenant) => effect.includes(tenant)).length !== 1)).toEqual([]);
});
