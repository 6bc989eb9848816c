import { pushNotice } from "../../src/core/notify/push-notice.ts";
import { consoleFiles } from "../../src/installed/console-files.ts";
import { ConsoleBrowser } from "../support/console.ts";
import { Client } from "../support/http-client.ts";
import { changeNotice } from "../support/notices.ts";
import { principalOf, pushPorts, startHere } from "../support/own-process-server.ts";

/*
 * Figures of the console on this machine: bytes, first paint, and the memory of an open list after many live messages.
 * `node --import ./src/installed/register-entries.ts test/bench/console.ts [messages]`
 */

const messages = Number(process.argv[2] ?? 18_000);
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
  for (let index = 0; index < messages; index++) {
    const of = { tenant_id: "acme", requested_by: principalOf("dev-acme"), task_id: ids[index % ids.length] ?? "" };
    await pushNotice(ports, changeNotice({ ...of, progress: index % 100 }));
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
