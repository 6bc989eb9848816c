import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import { ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Client, expectProblem, expectStatus } from "../../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../../support/local-server.ts";

const convert = `
import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "video.convert",
  input: z.strictObject({ url: z.string(), bytes: z.number() }),
  handler: ({ url, bytes }) => url + " " + bytes,
});
`;

const triggers = (bucket: string) => `
import { defineTrigger } from "offload/triggers";
import convert from ${JSON.stringify("./video.convert.ts")};

export default [
  defineTrigger({
    name: "upload.convert",
    pattern: { source: ["aws.s3"], "detail-type": ["Object Created"], detail: { bucket: { name: ["${bucket}"] } } },
    tenantId: "acme",
    type: convert,
    input: { url: "s3://<$.detail.bucket.name>/<$.detail.object.key>", bytes: "$.detail.object.size" },
  }),
  defineTrigger({
    name: "upload.removed",
    pattern: { source: ["aws.s3"], "detail-type": ["Object Deleted"] },
    tenantId: "acme",
    cancel: { type: convert, key: (event) => "file:" + event.detail.object.key },
  }),
];
`;

const uploaded = (bucket: string, id?: string, size: unknown = 1024) => ({
  source: "aws.s3",
  "detail-type": "Object Created",
  detail: { bucket: { name: bucket }, object: { key: "in/a.mov", size } },
  ...(id === undefined ? {} : { id }),
});

const patience = { timeout: 300_000, interval: 250 };

/** A project with a task type and a trigger. */
function makeProject(): { folder: string; save(path: string, text: string): void } {
  const folder = mkdtempSync(join(tmpdir(), "offload-triggers-"));
  const save = (path: string, text: string) => writeFileSync(join(folder, path), text);
  mkdirSync(join(folder, "tasks"));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  save("package.json", '{ "type": "module" }');
  save("tasks/video.convert.ts", convert);
  save("tasks/triggers.ts", triggers("uploads"));
  return { folder, save };
}

describe("events on a local server", { timeout: 300_000 }, () => {
  let project: ReturnType<typeof makeProject>;
  let server: OwnServer;
  let client: Client;

  beforeAll(async () => {
    project = makeProject();
    server = await startOwnServer({}, project.folder, ["dev"]);
    client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  }, 300_000);
  afterAll(async () => {
    await server?.stop();
    rmSync(project.folder, { recursive: true, force: true });
  });

  const post = async (event: object) =>
    expectStatus(await client.post("/_local/events", event), 202).json<{ id: string }>();
  const tasks = async () =>
    (await client.get("/tasks?limit=100")).json().tasks as { correlation_id: string; task_id: string }[];
  const tasksOf = async (id: string) => (await tasks()).filter((task) => task.correlation_id.endsWith(id));

  test("an event becomes one task, also when it is delivered three times at once and once more", async () => {
    const id = "11111111-05d4-b198-2fde-7ededc63b103";
    const answers = await Promise.all([1, 2, 3].map(() => post(uploaded("uploads", id))));
    expect(answers).toEqual([{ id }, { id }, { id }]);
    await vi.waitFor(async () => expect(await tasksOf(id)).toHaveLength(1), patience);
    await post(uploaded("uploads", id));
    const [task] = await tasksOf(id);
    expect(await client.ended(task?.task_id ?? "")).toMatchObject({
      type: "video.convert",
      status: "completed",
      requested_by: "trigger:upload.convert",
      result: "s3://uploads/in/a.mov 1024",
    });
    await vi.waitFor(() => expect(server.output().split("trigger fired")).toHaveLength(5), patience);
    expect(await tasksOf(id)).toHaveLength(1);
  });

  test("an event cancels the task of a key", async () => {
    const unique = { key: "file:in/b.mov" };
    const body = {
      type: "video.convert",
      input: { url: "s3://uploads/in/b.mov", bytes: 1 },
      delay_seconds: 3_600,
      unique,
    };
    const { task_id } = expectStatus(await client.post("/tasks", body), 202).json<{ task_id: string }>();
    await post({ ...uploaded("uploads"), "detail-type": "Object Deleted", detail: { object: { key: "in/b.mov" } } });
    expect(await client.ended(task_id)).toMatchObject({ status: "cancelled" });
  });

  test("events are listed, newest first", async () => {
    const first = await post({
      ...uploaded("others"),
      time: "2026-05-06T07:08:09.5Z",
      resources: ["arn:aws:s3:::others"],
    });
    const second = await post(uploaded("others"));
    const { events } = expectStatus(await client.get("/_local/events"), 200).json<{
      events: { id: string }[];
    }>();
    const mine = events.filter(({ id }) => [first.id, second.id].includes(id));
    expect(mine).toMatchObject([
      { id: second.id },
      {
        version: "0",
        id: first.id,
        "detail-type": "Object Created",
        source: "aws.s3",
        account: "000000000000",
        time: "2026-05-06T07:08:09Z",
        region: "us-east-1",
        resources: ["arn:aws:s3:::others"],
        detail: uploaded("others").detail,
      },
    ]);
    expect(server.output()).toContain(`event "Object Created" of "aws.s3" ${first.id}: no trigger`);
  });

  test.each([
    [{ source: "a", "detail-type": "b" }, "/detail"],
    [{ ...uploaded("uploads"), id: "" }, "/id"],
    [{ ...uploaded("uploads"), time: "today" }, "/time"],
    [{ ...uploaded("uploads"), hue: 1 }, "/hue"],
  ])("a wrong event is refused: %j", async (event, path) => {
    const problem = expectProblem(await client.post("/_local/events", event), 422, "invalid_input");
    expect(problem.errors).toMatchObject([{ path }]);
  });

  test("other methods and paths are refused", async () => {
    expectProblem(await client.send("DELETE", "/_local/events"), 405, "method_not_allowed");
    expectProblem(await client.get("/_local/other"), 404, "not_found");
  });

  test("a web page may not put events in", async () => {
    const headers = { origin: "https://attacker.example" };
    const answer = await client.send("POST", "/_local/events", { body: uploaded("uploads", "forged"), headers });
    expectProblem(answer, 403, "forbidden");
    expect(await tasksOf("forged")).toEqual([]);
  });

  test("any client of EventBridge can put events, at the address that the server announces", async () => {
    const { events_url } = (await client.get("/health")).json<{ events_url: string }>();
    expect(server.output()).toContain(events_url);
    const credentials = { accessKeyId: "local", secretAccessKey: "local" };
    const bridge = new EventBridgeClient({ endpoint: events_url, region: "us-east-1", credentials });
    const { Entries } = await bridge.send(
      new PutEventsCommand({ Entries: [{ Source: "shop", DetailType: "Order Placed", Detail: "{}" }] }),
    );
    bridge.destroy();
    const { events } = (await client.get("/_local/events")).json<{ events: object[] }>();
    expect(events[0]).toMatchObject({ id: Entries?.[0]?.EventId, source: "shop" });
  });

  test("an event that does not fit is refused with one line, and kept in the dead-letter queue", async () => {
    await post(uploaded("uploads", "unfit", "large"));
    await vi.waitFor(() => expect(server.output()).toContain("an event's task was refused"), patience);
    expect(await tasksOf("unfit")).toEqual([]);
    expect(server.output().split("an event's task was refused")).toHaveLength(2);
    const { sqs_url } = (await client.get("/health")).json<{ sqs_url: string }>();
    const credentials = { accessKeyId: "local", secretAccessKey: "local" };
    const sqs = new SQSClient({ endpoint: sqs_url, region: "us-east-1", credentials });
    const QueueUrl = `${sqs_url}/000000000000/offload-scheduler-dlq`;
    const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
    sqs.destroy();
    expect(Messages.map(({ Body = "" }) => JSON.parse(Body))).toMatchObject([
      { kind: "event", trigger: "upload.convert", event: { id: "unfit" } },
    ]);
  });

  test("a changed trigger is used after a reload", async () => {
    project.save("tasks/triggers.ts", triggers("others"));
    await vi.waitFor(() => expect(server.output()).toContain("Reloaded"), patience);
    await post(uploaded("others", "after-reload"));
    await vi.waitFor(async () => expect(await tasksOf("after-reload")).toHaveLength(1), patience);
  });
});

describe("a trigger with a fault", () => {
  const faulty = (option: string): ReturnType<typeof makeProject> => {
    const project = makeProject();
    project.save(
      "tasks/triggers.ts",
      `import { defineTrigger } from "offload/triggers";\nimport convert from ${JSON.stringify("./video.convert.ts")};\n` +
        `const upload = { name: "upload", pattern: { source: ["a"] }, tenantId: "acme", input: "$.detail" };\n` +
        `export default [defineTrigger({ ...upload, ${option} })];`,
    );
    return project;
  };

  test("the local server does not start with the name of a type that does not exist, and names the trigger", async () => {
    const { folder } = faulty("type: { ...convert, name: 'gone' }");
    await expect(startOwnServer({}, folder)).rejects.toThrow("the trigger upload submits gone");
    rmSync(folder, { recursive: true, force: true });
  });

  test("a file whose trigger has a wrong option is named, and the rest runs", async ({ onTestFinished }) => {
    const { folder } = faulty("type: convert, bus: 'a b'");
    const server = await startOwnServer({}, folder);
    onTestFinished(async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    expect(server.output()).toContain('TypeError: defineTrigger("upload"): bus must be default, own');
    const client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
    const { task_id } = await client.submit("video.convert", { url: "a.mov", bytes: 1 });
    expect(await client.ended(task_id)).toMatchObject({ status: "completed", result: "a.mov 1" });
  });
});
