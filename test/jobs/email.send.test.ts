import { createClient } from "offload/client";
import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import sendEmail, { emailQueue } from "./tasks/email.send.ts";
import { world } from "./tasks/lib/world.ts";

const begin = () => world.begin({ "db/email": () => ({ to: "a@b.co", subject: "hello" }) });
const input = { emailId: "e", queue: "eu-transaction", quota: 2 };

test("an email is sent once, wherever the worker dies", async () => {
  begin();
  await testKit([sendEmail]).crashEverywhere(sendEmail, input, () => {
    expect([world.of("ses/send").length, world.of("db/email/update").length > 0]).toEqual([1, true]);
    begin();
  });
});

test("a mail service that refuses for now is asked again", async () => {
  begin();
  world.refuse("ses/send", [429, 503]);
  expect(await testKit([sendEmail]).run(sendEmail, input)).toMatchObject({ result: { sent: true } });
  expect(world.of("ses/send")).toHaveLength(1);
});

test("the app's queue names each email, moves it and cancels it by that name", async () => {
  const sent: unknown[] = [];
  const fetch = async (url: string | URL | Request, init?: RequestInit) => {
    const { pathname } = new URL(String(url));
    sent.push([`${init?.method} ${decodeURIComponent(pathname)}`, JSON.parse(String(init?.body ?? "null"))]);
    return Response.json({ task_id: "0190d6c1-0000-7000-8000-000000000000", status: "scheduled" }, { status: 202 });
  };
  const client = createClient<{ sendEmail: typeof sendEmail }>({ url: "http://tasks.example.com", key: "k", fetch });
  const queue = emailQueue(client, () => 7);
  await queue.add({ emailId: "e", region: "eu", marketing: true, delaySeconds: 60 });
  await queue.changeDelay("e", 120);
  await queue.cancel("e");
  expect(sent).toMatchObject([
    [
      "POST /tasks",
      { input: { emailId: "e", queue: "eu-marketing", quota: 7 }, unique: { key: "e" }, delay_seconds: 60 },
    ],
    ["POST /tasks/~email.send:e/reschedule", { delay_seconds: 120 }],
    ["POST /tasks/~email.send:e/cancel", {}],
  ]);
});
