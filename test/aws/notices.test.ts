import { afterAll, beforeAll, expect, test } from "vitest";
import { SqsNotices } from "../../src/aws/notices.ts";
import { parseNotice } from "../../src/core/notify/notify.ts";
import { emulatedQueues, receiveRecords } from "../contract/emulators.ts";
import { endNotice } from "../support/notices.ts";

let queues: Awaited<ReturnType<typeof emulatedQueues>>;

beforeAll(async () => {
  queues = await emulatedQueues();
});

afterAll(() => queues.close());

test("a notice arrives with every character of its task, also those that SQS refuses", async () => {
  const notices = new SqsNotices(queues.client, queues.queueUrls.low, {
    events: false,
    receives: async () => false,
    hears: async () => false,
  });
  const tags = { note: "\uffff \ufffe \u0000 \ud800 \u{1f600}" };
  const notice = endNotice({ task: { tags, error: "a \uffff in an error" } });
  await notices.send([notice]);
  const [received] = await receiveRecords(queues.client, queues.queueUrls.low, 60);
  expect(parseNotice(received?.body ?? "")).toEqual(notice);
});
