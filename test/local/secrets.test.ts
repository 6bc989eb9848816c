import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { startTable } from "../../src/local/dynamodb/table.ts";
import { localTable } from "../../src/settings/config.ts";
import { Client } from "../support/http-client.ts";
import { startOwnServer } from "../support/local-server.ts";
import { isSigned, Receiver } from "../support/receiver.ts";

/** The items of the table, and every file of the state folder but that of the webhooks' master key. */
async function keptIn(stateDir: string): Promise<string> {
  const table = await startTable({ port: 0, stateDir });
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new DynamoDBClient({ endpoint: table.url, region: "us-east-1", credentials });
  const { Items } = await client.send(new ScanCommand({ TableName: localTable }));
  await table.close();
  const files = readdirSync(stateDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "webhook-key")
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
  return [JSON.stringify(Items), ...files].join("\n");
}

test("secrets of webhooks and tickets of channels are in no log and no store, and the paths of callbacks in no log", {
  timeout: 300_000,
}, async ({ onTestFinished }) => {
  const stateDir = mkdtempSync(join(tmpdir(), "offload-secrets-"));
  const receiver = await Receiver.start(0);
  const server = await startOwnServer({ OFFLOAD_STATE_DIR: stateDir, OFFLOAD_CALLBACK_HOSTS: receiver.host });
  onTestFinished(async () => {
    await server.stop();
    await receiver.close();
    rmSync(stateDir, { recursive: true, force: true });
  });
  const client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  const read = async (path: string) => (await client.get(path)).json() as { secret: string };
  const first = await read("/webhooks/secret");
  const second = (await client.post("/webhooks/secret/rotate", {})).json() as { secret: string; also_signing: number };
  expect(second).toMatchObject({ tenant_id: "acme", also_signing: 1 });
  expect(second.secret).not.toBe(first.secret);
  const channel = (await client.post("/channels", {})).json() as { url: string };
  const ticket = new URL(channel.url).searchParams.get("ticket") ?? expect.fail("the URL has no ticket");
  const url = receiver.url((_, number) => (number < 2 ? 500 : 200));
  await client.submit("probe.echo", { value: 1 }, { callback: { url } });
  const webhooks = await receiver.got(url, 2);
  // After a rotation both secrets sign.
  for (const secret of [first.secret, second.secret]) {
    expect(webhooks.map((one) => isSigned(one, secret))).toEqual([true, true]);
  }
  await server.stop();
  const key = readFileSync(join(stateDir, "webhook-key"), "utf8").trim();
  const secrets = [first.secret, second.secret, ticket, key].map((text) => text.replace(/^whsec_/, ""));
  const kept = await keptIn(stateDir);
  const log = server.output();
  expect(secrets.filter((secret) => kept.includes(secret) || log.includes(secret))).toEqual([]);
  // The search finds what is there.
  expect(kept).toContain(new URL(url).pathname);
  expect(log).toContain(receiver.host);
  expect(log).not.toContain(new URL(url).pathname);
});
