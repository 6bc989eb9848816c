import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compactDecrypt, exportJWK, generateKeyPair } from "jose";
import type { TaskView } from "offload/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { monthsFrom, ordersOf, type Region } from "../tasks/lib/sales.ts";
import { aReport, deployed, patient, startWorld, type World } from "./world.ts";

const timeout = 400_000;

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 120_000);
afterAll(() => world?.close());

/** Submits as a page does. */
async function submitted(input: object): Promise<string> {
  const response = await world.page("POST", "/api/reports", input);
  expect(response.status).toBe(202);
  return ((await response.json()) as { task_id: string }).task_id;
}

/** The task at its end, by requests that wait for it. */
async function endOf(id: string): Promise<TaskView> {
  for (;;) {
    const response = await world.offload("GET", `/tasks/${id}`, undefined, { prefer: "wait=20" });
    const task = (await response.json()) as TaskView;
    if (task.finished_at !== null) return task;
  }
}

const lines = (text: string) => text.split("\r\n").length - 1;

/** Number of lines that a CSV report must have. */
const linesOf = (region: Region, first: string, months: number) =>
  monthsFrom(first, months).reduce((sum, month) => sum + [...ordersOf(region, month)].length, 1);

test("a script polls and decrypts its report, which is deleted then", { timeout }, async () => {
  const script = world.run("script.ts", "--seconds", "3", "--first", "2025-11", "--months", "4", "--out", "own.csv");
  await expect.poll(script.output, patient).toContain("accepted");
  const id = /accepted (\S+)/.exec(script.output())?.[1] ?? "";
  expect(await script.ended).toBe(0);
  expect(script.output()).toMatch(/task completed, 100 %\nresult PARTIAL\nwrote own.csv/);
  const csv = readFileSync(join(world.folder, "own.csv"), "utf8");
  expect(csv).toMatch(/^order,day,amount,percent of month\r\nnorth-2025-11-1,2025-11-01,/);
  expect(lines(csv)).toBe(linesOf("north", "2025-11", 4));
  expect((await world.offload("GET", `/tasks/${id}/result`)).status).toBe(410);
});

test("a server hears of its report by a signed webhook, saves it, and refuses forged webhooks", {
  timeout,
}, async () => {
  const receiver = world.run("webhook-client.ts", "--seconds", "4", "--out", "hook.csv");
  await expect.poll(receiver.output, patient).toContain("accepted");
  const body = JSON.stringify({ type: "task.completed", data: { task_id: "forged", status: "completed" } });
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers = { "webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": "v1,Zm9yZ2Vk" };
  expect((await fetch(world.webhookUrl, { method: "POST", headers, body })).status).toBe(401);
  expect(await receiver.ended).toBe(0);
  expect(receiver.output()).toMatch(/^accepted \S+\ntask completed\nresult PARTIAL\nwrote hook.csv, \d+ bytes\n$/);
  expect(lines(readFileSync(join(world.folder, "hook.csv"), "utf8"))).toBe(linesOf("north", "2025-07", 12));
  const id = /accepted (\S+)/.exec(receiver.output())?.[1] ?? "";
  expect((await world.offload("GET", `/tasks/${id}/result`)).status).toBe(410);
});

test("a submit with faults is refused with all of them, before anything is written", { timeout }, async () => {
  const wrong = { region: "mars", firstMonth: "2025-13", months: 0, seconds: 1.5, format: "csv", more: true };
  const response = await world.page("POST", "/api/reports", wrong);
  expect(response.status).toBe(422);
  const { code, errors } = (await response.json()) as { code: string; errors: { path: string }[] };
  expect(code).toBe("invalid_input");
  const fields = ["region", "firstMonth", "months", "seconds", "more"];
  expect(errors.map(({ path }) => path).sort()).toEqual(fields.map((name) => `/input/${name}`).sort());

  const direct = await world.offload("POST", "/tasks", { type: "report.make", input: wrong, tags: { test: "faults" } });
  expect(direct.status).toBe(422);
  expect((await world.client.list({ tags: { test: "faults" } }).page()).items).toEqual([]);

  const script = world.run("script.ts", "--region", "mars", "--months", "99");
  expect(await script.ended).toBe(1);
  expect(script.output()).toMatch(
    /^invalid_input: .*\n {2}\/input\/(region|months): .*\n {2}\/input\/(region|months): /,
  );
});

test("a completed task says by its outcome how much data there was", { timeout }, async () => {
  const of = async (firstMonth: string) => endOf(await submitted({ ...aReport, firstMonth }));
  const [complete, partial, none] = await Promise.all(["2025-07", "2025-11", "2031-01"].map(of));
  expect(complete).toMatchObject({ status: "completed", outcome: "COMPLETE" });
  expect(partial).toMatchObject({ status: "completed", outcome: "PARTIAL" });
  expect(none).toMatchObject({ status: "completed", outcome: "NO_DATA", result: null });
});

test("a result that is a resource of the server is answered by 303 to it", { timeout }, async () => {
  const id = await submitted({ ...aReport, firstMonth: "2025-11", format: "page" });
  expect(await endOf(id)).toMatchObject({ status: "completed", outcome: "PARTIAL" });
  const response = await world.page("GET", `/api/tasks/${id}/result`);
  expect(response.status).toBe(303);
  expect(response.headers.get("location")).toBe(`${world.url}/reports/${id}`);
  const page = await (await fetch(`${world.url}/reports/${id}`)).text();
  expect(page).toContain("Result: <strong>PARTIAL</strong>");
  expect(page).toMatch(/<td>2025-11<\/td><td>1200<\/td>/);
  expect((await world.page("PUT", `/reports/${id}`, {})).status).toBe(401);
});

test("a result is kept for longer, and deleted when its client has it", { timeout }, async () => {
  const id = await submitted(aReport);
  const { retained_until: before } = await endOf(id);
  const extended = await world.page("POST", `/api/tasks/${id}/extend`, { retention_seconds: 30 * 86_400 });
  const { retained_until: after } = (await extended.json()) as TaskView;
  expect(Date.parse(after ?? "") - Date.parse(before ?? "")).toBeGreaterThan(22 * 86_400_000);

  const file = await world.page("GET", `/api/tasks/${id}/result`);
  expect(file.headers.get("content-disposition")).toContain("north-2025-07.csv");
  expect(lines(await file.text())).toBe(linesOf("north", "2025-07", 3));
  expect((await world.page("POST", `/api/tasks/${id}/acknowledge`, {})).status).toBe(204);
  expect((await world.page("GET", `/api/tasks/${id}/result`)).status).toBe(410);
  expect(await endOf(id)).toMatchObject({ status: "completed", outcome: "COMPLETE", result: null });
});

test("a report with a result key is stored only encrypted", { timeout }, async () => {
  const [own, other] = await Promise.all([generateKeyPair("ECDH-ES+A256KW"), generateKeyPair("ECDH-ES+A256KW")]);
  const task = await world.client.submit("report.make", aReport, { resultKey: await exportJWK(own.publicKey) });
  expect(await endOf(task.task_id)).toMatchObject({ outcome: "COMPLETE", result: null });
  const stored = await world.client.download(task);
  expect(stored.type).toBe("application/jose");
  const sealed = await stored.text();
  expect(sealed).not.toContain("north");
  const { plaintext, protectedHeader } = await compactDecrypt(sealed, own.privateKey);
  expect(protectedHeader.cty).toBe("text/csv");
  expect(lines(new TextDecoder().decode(plaintext))).toBe(linesOf("north", "2025-07", 3));
  await expect(compactDecrypt(sealed, other.privateKey)).rejects.toThrow("decryption operation failed");
});

test("a cancelled report stops in the middle of its work", { timeout }, async () => {
  const id = await submitted({ ...aReport, seconds: 600 });
  const state = async () => (await world.client.status(id)).status;
  await expect.poll(state, patient).toBe("processing");
  expect([200, 202]).toContain((await world.page("POST", `/api/tasks/${id}/cancel`, {})).status);
  // The report would take ten minutes.
  await expect.poll(state, patient).toBe("cancelled");
  expect((await world.page("GET", `/api/tasks/${id}/result`)).status).toBe(409);
});

describe.skipIf(deployed !== undefined)("on this machine (a deployment gets no load here)", () => {
  test("a file of more than 20 MB is streamed to the bucket, and read from there", { timeout }, async () => {
    const id = await submitted({ region: "online", firstMonth: "2025-01", months: 5, seconds: 0 });
    expect(await endOf(id)).toMatchObject({ status: "completed", outcome: "COMPLETE", attempts: 1 });
    const response = await world.page("GET", `/api/tasks/${id}/result`);
    expect(response.status).toBe(303);
    const csv = await (await fetch(response.headers.get("location") ?? "")).text();
    expect(csv.length).toBeGreaterThan(20_000_000);
    expect(lines(csv)).toBe(linesOf("online", "2025-01", 5));
    console.log(`file of ${csv.length} bytes`);
  });
});
