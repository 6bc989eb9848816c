import { testKit } from "offload/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { orderOf } from "../demo/orders.ts";
import { startOutside } from "../demo/outside.ts";
import confirm from "../tasks/order.confirm.ts";
import webhook from "../tasks/order.webhook.ts";

let outside: Awaited<ReturnType<typeof startOutside>>;
beforeAll(async () => {
  outside = await startOutside();
  process.env.SMTP_URL = outside.smtpUrl;
});
afterAll(() => outside.close());

const order = orderOf("1001", 2);
const shop = { name: "Acme Books", email: "orders@acme.example" };

test("a mail that comes twice, because the worker died right after the first one, has the same Message-ID", async () => {
  let most = 0;
  await testKit([confirm]).crashEverywhere(confirm, { order, shop }, ({ status }) => {
    const mails = outside.mails.splice(0);
    expect(status).toBe("completed");
    expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(1);
    most = Math.max(most, mails.length);
  });
  // SMTP takes no idempotency key: one crash, one more mail. No code on this side can rule it out.
  expect(most).toBe(2);
});

test("a message that is delivered twice sends one mail", async () => {
  const outcome = await testKit([confirm]).run(confirm, { order, shop }, { deliverTwice: true });
  expect(outcome.status).toBe("completed");
  expect(outside.mails.splice(0)).toHaveLength(1);
});

test("a webhook arrives at least once with the same id, wherever the worker dies", async () => {
  const input = { order, url: `${outside.webhookUrl}/acme` };
  await testKit([webhook], { tenantId: "acme" }).crashEverywhere(webhook, input, ({ status }) => {
    expect(status).toBe("completed");
    expect(new Set(outside.webhooks.splice(0).map(({ id }) => id))).toEqual(new Set(["webhook:order:acme:1001"]));
  });
});

test("a mail server that does not answer is tried again", async () => {
  const gone = await startOutside();
  await gone.close();
  process.env.SMTP_URL = gone.smtpUrl;
  const outcome = await testKit([confirm]).run(confirm, { order, shop }, { maxAttempts: 2 });
  process.env.SMTP_URL = outside.smtpUrl;
  expect(outcome).toMatchObject({ status: "failed", errorKind: "transient" });
  expect(outcome.attempts).toHaveLength(2);
});
