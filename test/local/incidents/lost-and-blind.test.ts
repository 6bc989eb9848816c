import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DeleteItemCommand, DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { offloadAnywhere } from "../../e2e/command-line.ts";
import { Client, expectStatus, until } from "../../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../../support/local-server.ts";
import { projectWith } from "../../support/project.ts";
import { Receiver } from "../../support/receiver.ts";

/*
 * Three incidents, each by the steps of the person on call, who has an admin's key of a tenant of its own. What the alarm's mail says is in
 * `lib/observability`; the tests of the alarms compare it.
 *
 * | incident | the mail | steps | before |
 * |---|---|---|---|
 * | a type fails for one tenant | new-failure: "a task failed for good with a class of error that its type did not have in the last day" | groups of all, dry run of all, replay of all | the key saw "No dead letters" |
 * | a dead letter has no record any more | dead-letters of the tier, as the DLQ is not empty | list is empty, recover, list, replay | a replay in the tier deleted the last copy |
 * | a customer's receiver fails | receivers-failing, after four days; the list says so with the first failure | list of receivers, deliveries, test webhook | nine hours until a webhook was given up |
 */

/** A type that fails for good until a file says that it is mended. */
const mail = `import { existsSync } from "node:fs";
import * as z from "zod";
import { defineTask, PermanentError } from "offload";

export default defineTask({
  name: "mail.send",
  description: "Fails until it is mended.",
  input: z.object({ file: z.string() }),
  handler: async ({ file }) => {
    if (!existsSync(file)) throw new PermanentError("the provider does not know the sender");
    return "sent";
  },
});
`;

let project: ReturnType<typeof projectWith>;
let server: OwnServer;
let receiver: Receiver;
const clientOf = (tenant: string) => new Client(server.url, { token: `${tenant}-key`, tenant, role: "operator" });

beforeAll(async () => {
  project = projectWith({ "mail.send": mail });
  receiver = await Receiver.start(0);
  const keys = "acme-key:acme:operator,globex-key:globex:operator,initech-key:initech:operator,admin-key:on-call:admin";
  server = await startOwnServer({ OFFLOAD_KEYS: keys, OFFLOAD_CALLBACK_HOSTS: receiver.host }, project.folder);
});
afterAll(async () => {
  await server.stop();
  await receiver.close();
  project[Symbol.dispose]();
});

/** A command of the person on call, which must succeed. */
async function onCall(...words: readonly string[]): Promise<string> {
  const ran = await offloadAnywhere([...words, "--url", server.url, "--key", "admin-key"]);
  expect(ran, words.join(" ")).toMatchObject({ code: 0 });
  return ran.out;
}

const fails = async (tenant: string, file: string): Promise<string> => {
  const client = clientOf(tenant);
  const { task_id } = await client.submit("mail.send", { file });
  await until("the failure", async () => ((await client.task(task_id)).status === "failed" ? true : undefined));
  return task_id;
};

const completed = (tenant: string, taskId: string) =>
  until("the end", async () => ((await clientOf(tenant).task(taskId)).status === "completed" ? true : undefined));

test("a type fails for other tenants: the key of the person on call sees whose tasks, and puts all back", async () => {
  const file = join(project.folder, "all-tenants");
  const [first, second] = [await fails("acme", file), await fails("globex", file)];
  expect(await onCall("dlq", "groups")).toContain("No dead letters");
  const groups = await onCall("dlq", "groups", "--tenant", "*");
  expect(groups).toMatch(/^2\s.*acme 1, globex 1.*mail\.send.*does not know the sender/m);
  const dryRun = await onCall("dlq", "replay", "--type", "mail.send", "--tenant", "*", "--dry-run");
  expect(dryRun).toMatch(/^2 dead letters match\./);
  writeFileSync(file, "");
  expect(await onCall("dlq", "replay", "--type", "mail.send", "--tenant", "*", "--wait")).toContain("2 of 2 done");
  await Promise.all([completed("acme", first), completed("globex", second)]);
  expect(await onCall("dlq", "list", "--tenant", "*")).toContain("No dead letters");
});

test("a dead letter vanishes from the list while its DLQ has it: it comes back with its input, and is put back", async () => {
  const file = join(project.folder, "lost-letter");
  const taskId = await fails("acme", file);
  const { dynamodb_url } = (await clientOf("acme").get("/health")).json<{ dynamodb_url: string }>();
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const table = new DynamoDBClient({ endpoint: dynamodb_url, region: "us-east-1", credentials });
  const { TableNames: [TableName] = [] } = await table.send(new ListTablesCommand({}));
  const Key = { pk: { S: `task#acme#${taskId}` }, sk: { S: "record" } };
  await table.send(new DeleteItemCommand({ TableName, Key }));
  table.destroy();
  expect(await onCall("dlq", "list", "--tenant", "acme")).toContain("No dead letters");
  expect(await onCall("queues")).toMatch(/^normal(\s+\S+){5}\s+1\s/m);
  await onCall("dlq", "recover", "normal");
  const listed = await until("the list", async () => {
    const list = await onCall("dlq", "list", "--tenant", "acme");
    return list.includes(taskId) ? list : undefined;
  });
  expect(listed).toMatch(/mail\.send.*normal.*permanent.*does not know the sender/);
  expect(await onCall("dlq", "show", taskId, "--tenant", "acme")).toContain(file);
  writeFileSync(file, "");
  await onCall("dlq", "replay", taskId, "--tenant", "acme", "--wait");
  await completed("acme", taskId);
});

test("a customer's receiver fails: the list of receivers says so at once, and what it missed is delivered once it is mended", async () => {
  const file = join(project.folder, "receiver");
  writeFileSync(file, "");
  let mended = false;
  const url = receiver.url(() => (mended ? 204 : 500));
  const initech = clientOf("initech");
  const created = expectStatus(await initech.post("/webhooks", { url }), 201).json<{ webhook_id: string }>();
  const { task_id } = await initech.submit("mail.send", { file });
  await completed("initech", task_id);
  const list = await until("the first failure", async () => {
    const found = await onCall("receivers", "list", "--tenant", "initech");
    return found.includes("failing") ? found : undefined;
  });
  expect(list).toContain(created.webhook_id);
  const deliveries = () => onCall("receivers", "deliveries", created.webhook_id, "--tenant", "initech");
  expect(await deliveries()).toContain("500");
  mended = true;
  // A test webhook shows that it is mended; what it missed is tried again by itself.
  await onCall("receivers", "test", created.webhook_id, "--tenant", "initech");
  await until("a healthy receiver", async () =>
    (await onCall("receivers", "list", "--tenant", "initech")).includes("healthy") ? true : undefined,
  );
  const missed = await until("the webhook", async () => {
    const ends = receiver.at(url).filter(({ json }) => json.type === "task.completed");
    return ends.length > 1 ? ends : undefined;
  });
  expect(missed.at(-1)?.json).toMatchObject({ data: { task_id } });
});
