import { expect, test } from "vitest";
import { Client } from "../../support/http-client.ts";
import { startOwnServer } from "../../support/local-server.ts";
import { takeKey } from "../../support/taken-key.ts";

interface BusEvent {
  source: string;
  "detail-type": string;
  detail: { id: string; task_id: string; status: string; result?: unknown };
}

test("the bus has an event for each end of a task, without its result", async ({ onTestFinished }) => {
  const server = await startOwnServer({});
  onTestFinished(() => server.stop());
  const client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  const completed = await client.submit("probe.echo", { value: "the result" });
  const failing = { kind: "permanent", times: null, message: "no", retry_after_seconds: 0 };
  const failed = await client.submit("probe.fail", failing);
  const cancelled = await client.submit("probe.echo", { value: 1 }, { delay_seconds: 3600 });
  await client.post(`/tasks/${cancelled.task_id}/cancel`, {});
  const taken = await takeKey(client);
  const expired = await client.submit("probe.keyed", taken.input, { expires_in_seconds: 1 });
  await client.ended(expired.task_id);
  await taken.free();
  const family = await client.submit("probe.fanout", { children: 3 });
  const events = async () => {
    const answer = await (await fetch(`${server.url}/_local/events`)).json();
    return (answer as { events: BusEvent[] }).events;
  };
  const typesOf = (all: readonly BusEvent[], taskId: string) =>
    all.filter(({ detail }) => detail.task_id === taskId).map((event) => event["detail-type"]);
  const expected: [taskId: string, type: string][] = [
    [completed.task_id, "Task Completed"],
    [failed.task_id, "Task Failed"],
    [cancelled.task_id, "Task Cancelled"],
    [expired.task_id, "Task Expired"],
    [family.task_id, "Task Completed"],
    ...taken.holders.map((taskId): [string, string] => [taskId, "Task Cancelled"]),
  ];
  for (const [taskId, type] of expected) {
    await expect.poll(async () => typesOf(await events(), taskId), { timeout: 300_000, interval: 250 }).toEqual([type]);
  }
  const all = await events();
  expect(new Set(all.map(({ source }) => source))).toEqual(new Set(["offload.local"]));
  // The five, the three that had the places, and the three children.
  expect(all).toHaveLength(11);
  expect(new Set(all.map(({ detail }) => detail.id)).size).toBe(11);
  expect(JSON.stringify(all)).not.toContain("the result");
  // A retry is another round: its end is another event.
  await client.post(`/tasks/${failed.task_id}/retry`, {});
  await expect
    .poll(async () => typesOf(await events(), failed.task_id), { timeout: 300_000, interval: 250 })
    .toEqual(["Task Failed", "Task Failed"]);
  expect(new Set((await events()).map(({ detail }) => detail.id)).size).toBe(12);
});
