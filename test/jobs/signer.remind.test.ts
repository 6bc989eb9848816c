import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import { world } from "./tasks/lib/world.ts";
import remind from "./tasks/signer.remind.ts";

const signer = {
  email: "a@b.co",
  title: "Lease",
  subject: null,
  distribution: "EMAIL",
  ownerDisabled: false,
  sentAt: "2026-01-01",
};
const begin = (found: object | null = signer, allowed = true) =>
  world.begin({ "db/signer/claim": () => found, "quota/take": () => allowed });
const run = () => testKit([remind]).run(remind, { signerId: "s" });

test("a mail service that is down costs no reminder, although the signer is claimed", async () => {
  begin();
  world.refuse("mail/send", [503, 503]);
  expect(await run()).toMatchObject({ result: { sent: true }, attempts: { length: 3 } });
  expect(world.of("mail/send")).toMatchObject([{ subject: 'Reminder: please sign the document "Lease"' }]);
  expect(world.of("db/signer/claim")).toHaveLength(1);
});

test("who has signed, or has no quota, gets none", async () => {
  begin(null);
  expect((await run()).result).toEqual({ sent: false });
  begin(signer, false);
  expect((await run()).result).toEqual({ sent: false });
  expect([world.of("mail/send").length, world.of("db/signer/next").length]).toEqual([0, 1]);
});

test("one reminder, one audit line and one webhook, wherever the worker dies", async () => {
  begin();
  await testKit([remind]).crashEverywhere(remind, { signerId: "s" }, () => {
    expect(["mail/send", "db/audit", "webhook/send"].map((path) => world.of(path).length)).toEqual([1, 1, 1]);
    begin();
  });
});
