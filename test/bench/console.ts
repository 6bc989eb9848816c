import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { pushNotice } from "../../src/core/notify/push-notice.ts";
import { consoleFiles } from "../../src/installed/console-files.ts";
import { ConsoleBrowser } from "../support/console.ts";
import { Client } from "../support/http-client.ts";
import { changeNotice } from "../support/notices.ts";
import { principalOf, pushPorts, startHere } from "../support/own-process-server.ts";

/*
 * Figures of the console on this machine: bytes, first paint, the frames of an open list with and without live messages,
 * and its memory after many of them.
 * `node --import ./src/installed/register-entries.ts test/bench/console.ts [messages] [seconds of frames]`
 */

const messages = Number(process.argv[2] ?? 18_000);
const frameSeconds = Number(process.argv[3] ?? 60);
/** 18,000 an hour. */
const messagesPerSecond = 5;

/** A frame that took longer has missed its turn at 60 frames a second. */
const lateMs = 1_000 / 30;

/** Counts the frames of a page while something goes on, and the time in which its main thread was busy. */
async function framesWhile(page: Page, work: () => Promise<void>): Promise<string> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
  const busySeconds = async () => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0;
  };
  await page.evaluate(() => {
    const seen = { took: [] as number[], last: performance.now(), on: true };
    const next = (at: number) => {
      seen.took.push(at - seen.last);
      seen.last = at;
      if (seen.on) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
    Object.assign(globalThis, { seenFrames: seen });
  });
  const before = await busySeconds();
  await work();
  const busy = (await busySeconds()) - before;
  const took = await page.evaluate(() => {
    const { seenFrames } = globalThis as unknown as { seenFrames: { took: number[]; on: boolean } };
    seenFrames.on = false;
    return seenFrames.took;
  });
  await devtools.detach();
  const late = took.filter((ms) => ms > lateMs).length;
  const perSecond = (took.length / took.reduce((sum, ms) => sum + ms, 0)) * 1_000;
  return `${took.length} frames, ${perSecond.toFixed(1)} a second, ${late} late, ${busy.toFixed(2)} s of the main thread`;
}

const files = Object.entries(consoleFiles());
const total = files.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0);
for (const [name, text] of files) console.log(`${name}: ${(Buffer.byteLength(text) / 1024).toFixed(1)} KiB`);
console.log(`all files: ${(total / 1024).toFixed(1)} KiB`);

const offload = await startHere({ OFFLOAD_PROBES: "1", OFFLOAD_LOG: "off" });
const browser = await ConsoleBrowser.start(offload.url);
try {
  const api = new Client(offload.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  const ids: string[] = [];
  for (let index = 0; index < 500; index++) {
    const { task_id } = await api.submit("probe.echo", { value: index }, { delay_seconds: 3_600 });
    ids.push(task_id);
  }
  const page = await browser.open("dev-acme", "#/tasks");
  await page.getByText("live", { exact: true }).waitFor();
  await page.reload();
  await page.getByRole("table", { name: "Tasks" }).waitFor();
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  console.log(`first contentful paint: ${paint?.toFixed(0)} ms`);
  const devtools = await page.context().newCDPSession(page);
  const heapMiB = async () => {
    await devtools.send("HeapProfiler.collectGarbage");
    const { usedSize } = await devtools.send("Runtime.getHeapUsage");
    return usedSize / 1024 / 1024;
  };
  const before = await heapMiB();
  const ports = pushPorts();
  const push = (index: number) => {
    const of = { tenant_id: "acme", requested_by: principalOf("dev-acme"), task_id: ids[index % ids.length] ?? "" };
    return pushNotice(ports, changeNotice({ ...of, progress: index % 100 }));
  };
  console.log(`without messages: ${await framesWhile(page, () => sleep(frameSeconds * 1_000))}`);
  const paced = async () => {
    const from = performance.now();
    for (let index = 0; index < frameSeconds * messagesPerSecond; index++) {
      await sleep(Math.max(0, from + (index * 1_000) / messagesPerSecond - performance.now()));
      await push(index);
    }
  };
  console.log(`with ${messagesPerSecond} messages a second: ${await framesWhile(page, paced)}`);
  for (let index = 0; index < messages; index++) {
    await push(index);
    if (index % 500 === 0) await api.submit("probe.echo", { value: index }, { delay_seconds: 3_600 });
  }
  console.log(
    `memory of the page: ${before.toFixed(1)} MiB before, ${(await heapMiB()).toFixed(1)} MiB after ${messages} messages`,
  );
} finally {
  await browser.close();
  await offload.close();
}
process.exit();
