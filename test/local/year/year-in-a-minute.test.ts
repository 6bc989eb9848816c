import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createClient } from "offload/client";
import { startLocalServer } from "offload/testing";
import { expect, onTestFinished, test } from "vitest";

const folder = import.meta.dirname;

test("a year in a minute", { timeout: 600_000 }, async () => {
  // A bank that declines three charges.
  const requests: string[] = [];
  let declined = 0;
  const bank = createServer(async (request, response) => {
    const body = await text(request);
    requests.push(body);
    response.end(body.includes("charge") && declined++ < 3 ? "declined" : "paid");
  });
  await once(bank.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void bank.close());

  const BANK_URL = `http://127.0.0.1:${(bank.address() as AddressInfo).port}`;
  const offload = await startLocalServer({ folder, env: { BANK_URL, OFFLOAD_MOVE_DATE: "1" } });
  onTestFinished(() => offload.stop());
  const client = createClient({ url: offload.url, key: "dev-acme" });

  const year = new Date().getUTCFullYear() + 1;
  await offload.advance(new Date(`${year}-01-01T09:00Z`));
  requests.length = 0;
  await client.submit("trial.start", { customer: "bob" });
  await client.submit("payment.charge", { customer: "ada" });
  const { summary } = await offload.advance(new Date(`${year + 1}-01-01T09:00Z`));

  expect(requests).toEqual([
    `${year}-01-01T09:00  charge ada`,
    `${year}-01-02T09:00  charge ada`,
    `${year}-01-03T09:00  charge ada`,
    `${year}-01-04T09:00  charge ada`,
    `${year}-01-31T09:00  open an account for bob`,
    `${year}-02-01T01:30  bill ada`,
    `${year}-03-01T01:30  bill ada`,
    // Daylight saving: 02:30 in Berlin is 00:30 in UTC.
    `${year}-04-01T00:30  bill ada`,
    `${year}-05-01T00:30  bill ada`,
    `${year}-06-01T00:30  bill ada`,
    `${year}-07-01T00:30  bill ada`,
    `${year}-08-01T00:30  bill ada`,
    `${year}-09-01T00:30  bill ada`,
    `${year}-10-01T00:30  bill ada`,
    `${year}-11-01T01:30  bill ada`,
    `${year}-12-01T01:30  bill ada`,
    `${year + 1}-01-01T01:30  bill ada`,
  ]);
  expect(summary).toContain(": 12 schedule firings, 3 retries, 14 completed");
});
