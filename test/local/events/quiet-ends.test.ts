import { expect, test } from "vitest";
import { EventLog } from "../../../src/local/events/event-log.ts";
import { withQuietEnds } from "../../../src/local/events/quiet-ends.ts";
import { systemClock } from "../../../src/local/time/clock.ts";

const end = {
  ...{ kind: "end", id: "msg_1", tenant_id: "acme", task_id: "t", requested_by: "anna", type: "mail.send" },
  task: { task_id: "t", status: "completed", finished_at: "2026-01-02T03:04:05.678Z", result: "a secret" },
};
const request = (notice: object, QueueUrl = "http://127.0.0.1:1/000000000000/offload-notify", more: object[] = []) =>
  JSON.stringify({ QueueUrl, Entries: [{ Id: "0", MessageBody: JSON.stringify(notice) }, ...more] });

function opened({ channels = false, fails = false } = {}) {
  const queued: string[] = [];
  const deliver = () => {};
  const log = () => {
    if (fails) throw new Error("the disk is full");
  };
  const events = new EventLog({ clock: systemClock, deliver, log });
  const queues = async (_: string, text: string) => {
    queued.push(text);
    return { status: 200, body: {} };
  };
  const options = { events, source: "offload.local", queue: "offload-notify", hasChannels: () => channels };
  return { events, queued, door: withQuietEnds(queues, options) };
}

test("an end that nobody else hears of is an event at once, and not in the queue", async () => {
  const { events, queued, door } = opened();
  expect(await door("SendMessageBatch", request(end))).toMatchObject({
    status: 200,
    body: { Successful: [{ Id: "0" }] },
  });
  expect(queued).toEqual([]);
  expect(events.newest()).toMatchObject([
    {
      ...{ source: "offload.local", "detail-type": "Task Completed", time: "2026-01-02T03:04:05Z" },
      detail: { id: "msg_1", tenant_id: "acme", task_id: "t", status: "completed" },
    },
  ]);
  expect(JSON.stringify(events.newest())).not.toContain("a secret");
});

test.each([
  ["an end with a webhook", request({ ...end, callback: { url: "https://a.example" } })],
  ["an end with receivers", request({ ...end, receivers: true })],
  ["an end with a trace", request({ ...end, traceparent: "00-0-0-01" })],
  ["a try", request({ ...end, kind: "try" })],
  ["a text that is no request", "{"],
  ["a message that is no notice", request(end).replace(/"MessageBody":.*/, '"MessageBody":"{"}]}')],
  ["several notices", request(end, undefined, [{ Id: "1", MessageBody: "{}" }])],
  ["a message of another queue", request(end, "http://127.0.0.1:1/000000000000/offload-normal")],
  ["an end that may be too large for an event", request({ ...end, text: "a".repeat(80_000) })],
])("goes to the queue: %s", async (_, text) => {
  const { events, queued, door } = opened();
  await door("SendMessageBatch", text);
  expect(queued).toEqual([text]);
  expect(events.newest()).toEqual([]);
});

test("an end goes to the queue while a channel may be open, and when the event cannot be taken", async () => {
  for (const { queued, door } of [opened({ channels: true }), opened({ fails: true })]) {
    await door("SendMessageBatch", request(end));
    expect(queued).toEqual([request(end)]);
  }
});
