import { testKit } from "offload/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type Refusal, startMailbox } from "../demo/mailbox.ts";
import invoiceSend from "../tasks/invoice.send.ts";
import { orderOf } from "./system.ts";

let refusal: Refusal | undefined;
let mailbox: Awaited<ReturnType<typeof startMailbox>>;
beforeAll(async () => {
  mailbox = await startMailbox(0, () => refusal);
  vi.stubEnv("SMTP_URL", mailbox.url);
});
afterAll(() => mailbox.close());
beforeEach(() => {
  refusal = undefined;
  mailbox.mails.length = 0;
});

const kit = () => testKit([invoiceSend], { patienceMs: 20_000 });

describe("answers of the mail server", { timeout: 120_000 }, () => {
  test.each([
    [421, "retried", 300],
    [450, "retried", 300],
    [451, "retried", 0],
    [530, "permanent", 0],
    [535, "permanent", 0],
    [550, "permanent", 0],
    [554, "permanent", 0],
  ])("%i is %s", async (code, kind, waitSeconds) => {
    refusal = { code, text: `no mail for ${orderOf("1").email}` };
    const { status, error, attempts } = await kit().run(invoiceSend, orderOf("1"), { maxAttempts: 2 });
    expect(status).toBe("failed");
    expect(attempts).toHaveLength(kind === "permanent" ? 1 : 2);
    expect(error).toContain(`(${code})`);
    expect(error).not.toContain("@example.com");
    if (code < 540 && code >= 530) expect(error).toContain("check SMTP_URL");
    if (kind === "retried") expect(attempts[0]?.waitSeconds).toBeGreaterThanOrEqual(waitSeconds);
  });

  test("a server that cannot be reached is tried again", async () => {
    vi.stubEnv("SMTP_URL", "smtp://127.0.0.1:1");
    const { attempts, error } = await kit().run(invoiceSend, orderOf("1"), { maxAttempts: 3 });
    vi.stubEnv("SMTP_URL", mailbox.url);
    expect(attempts).toHaveLength(3);
    expect(error).toContain("did not answer");
  });

  test("wherever a worker dies, the mail is sent, and a second copy has the same Message-ID", async () => {
    await kit().crashEverywhere(invoiceSend, orderOf("1"), ({ status }) => {
      expect(status).toBe("completed");
      const sent = mailbox.mails.splice(0);
      expect(sent.length).toBeGreaterThanOrEqual(1);
      expect(sent.length).toBeLessThanOrEqual(2);
      expect(new Set(sent.map(({ messageId }) => messageId))).toEqual(new Set(["<1.test-tenant@invoices.example>"]));
    });
  });
});
