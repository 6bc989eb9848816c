import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { type TaskView, Webhooks } from "offload/client";
import { Webhook } from "standardwebhooks";
import { connection, offload, out, refused, report } from "./options.ts";

/* Asks for a report, and hears of its end by a webhook: `npm run webhook -- --region online`. It never polls. */

const port = Number(process.env.WEBHOOK_PORT ?? 4100);
// Your receiver gets the secret by its configuration: `npx offload webhooks secret --tenant acme` shows it.
const secret = process.env.WEBHOOK_SECRET ?? (await new Webhooks(connection).secret().catch(refused)).secret;
const webhook = new Webhook(secret);

/** The task in a webhook. Undefined: Offload did not sign it. */
async function taskIn(request: IncomingMessage): Promise<TaskView | undefined> {
  const body = await text(request);
  try {
    return (webhook.verify(body, request.headers as Record<string, string>) as { data: TaskView }).data;
  } catch {
    return undefined;
  }
}

/** Shows how the task ended, and saves its file. Then its result can be deleted. */
async function take(task: TaskView): Promise<void> {
  console.log(`task ${task.status}`);
  console.log(`result ${task.outcome ?? "none"}`);
  if (task.status !== "completed") {
    console.error(`the report failed: ${task.error ?? "nobody knows why"}`);
    process.exitCode = 1;
    return;
  }
  if (task.outcome !== "NO_DATA") {
    const { body, size } = await offload.download(task);
    await pipeline(body, createWriteStream(out));
    console.log(`wrote ${out}, ${size} bytes`);
  }
  await offload.acknowledge(task);
}

const { promise: ended, resolve: end } = Promise.withResolvers<TaskView>();
const path = `/hooks/${randomUUID()}`;
const server = createServer(async (request, response) => {
  const task = await taskIn(request);
  if (task === undefined) return response.writeHead(401).end();
  // A late webhook of an earlier start of this program: it is not sent again.
  if (request.url !== path) return response.writeHead(410).end();
  response.writeHead(204).end();
  // A webhook can come twice. The second one changes nothing here.
  end(task);
});
await new Promise<void>((listening) => server.listen(port, "127.0.0.1", listening));

const callback = { url: `http://127.0.0.1:${port}${path}` };
const accepted = await offload.submit("report.make", report, { callback }).catch(refused);
console.log(`accepted ${accepted.task_id}`);
await take(await ended);
server.close();
