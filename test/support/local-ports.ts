import { createServer } from "node:http";
import { connect } from "node:net";
import { DynamoDBClient, PutItemCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { CreateScheduleCommand, ListSchedulesCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import { serve } from "../../src/api/http/serve.ts";
import { startCloudWatch } from "../../src/local/cloudwatch/cloudwatch.ts";
import { createTable } from "../../src/local/dynamodb/create-table.ts";
import { startTable } from "../../src/local/dynamodb/table.ts";
import { startEventBus } from "../../src/local/events/event-bus.ts";
import type { EventLog } from "../../src/local/events/event-log.ts";
import { startGateway } from "../../src/local/gateway/gateway.ts";
import { startWebSockets } from "../../src/local/gateway/web-sockets.ts";
import { listen } from "../../src/local/net/listen.ts";
import { startScheduler } from "../../src/local/scheduler/scheduler.ts";
import { ServerClock } from "../../src/local/server/clock.ts";
import { localRoutes } from "../../src/local/server/local-routes.ts";
import { startSqs } from "../../src/local/sqs/sqs.ts";
import { ClockFile } from "../../src/local/time/clock-file.ts";
import { ask, olga, served } from "./served.ts";

/** Text that is in the data behind every port. */
export const secret = "the-secret-of-a-developer";

export const token = "dev-token";

/** A page that the API port itself serves, as a console would be. */
export const ownPage = "/own-page";

export const portNames = ["api", "table", "sqs", "scheduler", "cloudwatch", "connections", "events"] as const;
export type PortName = (typeof portNames)[number];

/** A request that reads or changes the data behind a port when nothing refuses it. */
export interface Attempt {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

export interface LocalPorts {
  ports: Record<PortName, number>;
  attempts: Record<PortName, Attempt[]>;
  /** All data behind the ports, to see whether it changed. Read without the ports' guards where possible. */
  data(): Promise<unknown>;
  /** Sets the document that the API port serves at `ownPage`. */
  setOwnPage(html: string): void;
  close(): Promise<void>;
}

/** Starts every server that `src/local` has, with data behind each. */
export async function openPorts(): Promise<LocalPorts> {
  const sqs = await startSqs({ port: 0, stateDir: undefined, queues: [{ name: "q" }] });
  sqs.store.send("q", { body: secret });
  const cloudwatch = await startCloudWatch(sqs.store);
  const table = await tableWithItem();
  const scheduler = await schedulerWithSchedule();
  const connections = await connectedClient();
  const events = await startEventBus({ deliver: () => {}, log: () => {} });
  const detail = { note: secret };
  events.log.put({ source: "shop", "detail-type": "Order Placed", detail });
  const api = await apiWithTask(events.log);
  const servers = { api, table, sqs, scheduler, cloudwatch, connections, events };
  const each = <T>(read: (name: PortName) => T) =>
    Object.fromEntries(portNames.map((name) => [name, read(name)])) as Record<PortName, T>;
  return {
    ports: each((name) => Number(new URL(servers[name].url).port)),
    attempts: attemptsAt({ queueUrl: `${sqs.url}/000000000000/q`, taskId: api.taskId, ...connections }),
    data: async () => ({
      tasks: await api.tasks(),
      items: await table.items(),
      queue: sqs.store.counts("q"),
      schedules: await scheduler.names(),
      messages: connections.messages(),
      events: events.log.newest().length,
    }),
    setOwnPage: api.setOwnPage,
    close: async () => void (await Promise.all(portNames.map((name) => servers[name].close()))),
  };
}

const client = (endpoint: string) => ({
  endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
  maxAttempts: 1,
});

async function tableWithItem() {
  const { url, close } = await startTable({ port: 0, stateDir: undefined });
  const dynamodb = new DynamoDBClient(client(url));
  await createTable(dynamodb, "tasks");
  await dynamodb.send(new PutItemCommand({ TableName: "tasks", Item: { pk: { S: "a" }, sk: { S: secret } } }));
  const items = async () => (await dynamodb.send(new ScanCommand({ TableName: "tasks" }))).Items;
  return { url, close, items };
}

async function schedulerWithSchedule() {
  const { url, close } = await startScheduler({ port: 0, stateDir: undefined, fire: async () => {} });
  const scheduler = new SchedulerClient(client(url));
  const Target = { Arn: "arn:target", RoleArn: "arn:role", Input: secret };
  const ScheduleExpression = "at(2199-01-01T00:00:00)";
  await scheduler.send(
    new CreateScheduleCommand({ Name: secret, ScheduleExpression, Target, FlexibleTimeWindow: { Mode: "OFF" } }),
  );
  const names = async () => (await scheduler.send(new ListSchedulesCommand({}))).Schedules?.map(({ Name }) => Name);
  return { url, close, names };
}

async function apiWithTask(events: EventLog) {
  const app = served();
  const { task_id } = await app.accepted({ tags: { note: secret } });
  let page = "";
  const status = serve(app.status) as unknown as (event: { rawPath: string }, context: never) => Promise<never>;
  const withOwnPage = async (event: { rawPath: string }, context: never) =>
    event.rawPath === ownPage
      ? { statusCode: 200, headers: { "content-type": "text/html" }, body: page }
      : status(event, context);
  const { url, close } = await startGateway({
    port: 0,
    handlers: {
      submit: serve(app.submit) as never,
      status: withOwnPage as never,
      control: serve(app.control) as never,
    },
    local: localRoutes(events, new ServerClock(new ClockFile(undefined))),
    authorizer: async ({ headers }: { headers: Record<string, string> }) => {
      const known = headers.authorization === `Bearer ${token}`;
      return { isAuthorized: true, context: known ? olga : { anonymous: "no token" } };
    },
    onRequest: () => {},
  });
  const tasks = async () => (await ask(app.status, "/tasks")).json;
  const setOwnPage = (html: string) => {
    page = html;
  };
  return { url, close, taskId: task_id, tasks, setOwnPage };
}

/** The management API of a WebSocket API with one client. */
async function connectedClient() {
  const webSockets = await startWebSockets({ handler: async () => ({ statusCode: 200 }), onEvent: () => {} });
  const server = createServer().on("upgrade", webSockets.upgrade);
  const port = await listen(server, 0);
  const client = new WebSocket(`ws://127.0.0.1:${port}`);
  const messages: string[] = [];
  client.addEventListener("message", ({ data }) => messages.push(String(data)));
  await new Promise((resolve) => client.addEventListener("open", resolve, { once: true }));
  const close = async () => {
    await webSockets.close();
    server.close();
  };
  return { url: webSockets.url, close, connectionId: webSockets.open()[0] ?? "", messages: () => [...messages] };
}

function attemptsAt(known: { queueUrl: string; taskId: string; connectionId: string }): Record<PortName, Attempt[]> {
  const authorization = `Bearer ${token}`;
  const json = { authorization, "content-type": "application/json" };
  const aws = (service: string, target: string) => ({
    authorization: `AWS4-HMAC-SHA256 Credential=local/20000101/us-east-1/${service}/aws4_request, SignedHeaders=host, Signature=local`,
    "content-type": "application/x-amz-json-1.0",
    "x-amz-date": "20000101T000000Z",
    "x-amz-target": target,
  });
  const purge = String(new URLSearchParams({ Action: "PurgeQueue", QueueUrl: known.queueUrl }));
  const schedule = {
    ScheduleExpression: "rate(1 minute)",
    FlexibleTimeWindow: { Mode: "OFF" },
    Target: { Arn: "arn:target", RoleArn: "arn:role", Input: "forged" },
  };
  const dynamodb = (operation: string) => ({
    method: "POST",
    path: "/",
    headers: aws("dynamodb", `DynamoDB_20120810.${operation}`),
    body: JSON.stringify({ TableName: "tasks" }),
  });
  return {
    api: [
      { method: "GET", path: "/health", headers: {} },
      { method: "GET", path: "/tasks", headers: { authorization } },
      { method: "POST", path: "/tasks", headers: json, body: '{"type":"echo","input":{"value":"forged"}}' },
      { method: "POST", path: `/tasks/${known.taskId}/cancel`, headers: json },
      { method: "GET", path: "/_local/events", headers: {} },
      {
        method: "POST",
        path: "/_local/events",
        headers: json,
        body: '{"source":"forged","detail-type":"x","detail":{}}',
      },
    ],
    table: [dynamodb("Scan"), dynamodb("DeleteTable")],
    sqs: [
      {
        method: "POST",
        path: "/",
        headers: aws("sqs", "AmazonSQS.ReceiveMessage"),
        body: JSON.stringify({ QueueUrl: known.queueUrl }),
      },
      { method: "POST", path: "/", headers: { "content-type": "application/x-www-form-urlencoded" }, body: purge },
      { method: "GET", path: `/?${purge}`, headers: {} },
    ],
    scheduler: [
      { method: "GET", path: "/schedules", headers: {} },
      {
        method: "POST",
        path: "/schedules/forged",
        headers: { "content-type": "text/plain" },
        body: JSON.stringify(schedule),
      },
      { method: "DELETE", path: `/schedules/${secret}`, headers: {} },
    ],
    events: [
      {
        method: "POST",
        path: "/",
        headers: aws("events", "AWSEvents.PutEvents"),
        body: '{"Entries":[{"Source":"forged","DetailType":"x","Detail":"{}"}]}',
      },
    ],
    cloudwatch: [
      {
        method: "POST",
        path: "/",
        headers: aws("monitoring", "GraniteServiceVersion20100801.GetMetricData"),
        body: '{"MetricDataQueries":[]}',
      },
    ],
    connections: [
      {
        method: "POST",
        path: `/@connections/${encodeURIComponent(known.connectionId)}`,
        headers: { "content-type": "text/plain" },
        body: "forged",
      },
    ],
  };
}

/** Sends a request as its bytes and returns the raw answer. The headers come first, and may name a header twice. */
export function sendRaw(port: number, attempt: Attempt, headers: readonly [string, string][]): Promise<string> {
  const all = [...headers, ...Object.entries(attempt.headers)].map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const { method, path, body = "" } = attempt;
  const length = "content-length" in attempt.headers ? "" : `content-length: ${Buffer.byteLength(body)}\r\n`;
  const bytes = `${method} ${path} HTTP/1.1\r\n${all}${length}connection: close\r\n\r\n${body}`;
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    socket.on("data", (chunk) => {
      answer += chunk.toString("utf8");
    });
    socket.on("end", () => resolve(answer));
    socket.on("error", reject);
  });
}
