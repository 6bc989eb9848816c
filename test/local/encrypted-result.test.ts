import { createHash, generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import { compactDecrypt, importJWK } from "jose";
import { expect, test } from "vitest";
import { startTable } from "../../src/local/dynamodb/table.ts";
import { localTable } from "../../src/settings/config.ts";
import { Client } from "../support/http-client.ts";
import { startOwnServer } from "../support/local-server.ts";

/** Makes a text that no request has: only a store, a log or a message that has the result itself has the marker. */
const taskFile = `import { createHash } from "node:crypto";
import { defineTask, file } from "offload";
import * as z from "zod";

export default defineTask({
  name: "secret.make",
  input: z.object({ seed: z.string(), as: z.enum(["json", "large", "file"]) }),
  handler: ({ seed, as }) => {
    const marker = createHash("sha256").update(seed).digest("hex");
    if (as === "file") return file(Buffer.from(marker + " ".repeat(500_000)), { contentType: "text/plain", fileName: "a.txt" });
    return { marker, filler: " ".repeat(as === "large" ? 500_000 : 10) };
  },
});
`;

const markerOf = (seed: string): string => createHash("sha256").update(seed).digest("hex");

/** All that the server keeps: the table's items, and the bytes of every file of its queues, schedules and bucket. */
async function keptIn(stateDir: string): Promise<string> {
  const table = await startTable({ port: 0, stateDir });
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new DynamoDBClient({ endpoint: table.url, region: "us-east-1", credentials });
  const { Items } = await client.send(new ScanCommand({ TableName: localTable }));
  await table.close();
  const files = readdirSync(stateDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
  return [JSON.stringify(Items), ...files].join("\n");
}

test("an encrypted result is in no table, bucket, queue or log", { timeout: 300_000 }, async ({ onTestFinished }) => {
  const folder = mkdtempSync(join(tmpdir(), "offload-encrypted-"));
  const stateDir = join(folder, "state");
  mkdirSync(join(folder, "tasks"));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "tasks/secret.make.ts"), taskFile);
  const server = await startOwnServer({ OFFLOAD_STATE_DIR: stateDir }, folder);
  onTestFinished(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  const { publicKey, privateKey } = generateKeyPairSync("x25519");
  const opening = await importJWK(privateKey.export({ format: "jwk" }), "ECDH-ES+A256KW");
  const kinds = ["json", "large", "file"] as const;
  const run = async (as: (typeof kinds)[number], name: string, fields = {}) => {
    const { task_id } = await client.submit("secret.make", { seed: `${name} ${as}`, as }, fields);
    expect(await client.ended(task_id)).toMatchObject({ status: "completed", error: null });
    const headers = { authorization: "Bearer dev-acme" };
    return (await fetch(`${server.url}/tasks/${task_id}/result`, { headers })).text();
  };
  const result_key = publicKey.export({ format: "jwk" });
  for (const as of kinds) {
    const { plaintext } = await compactDecrypt(await run(as, "encrypted", { result_key }), opening);
    expect(new TextDecoder().decode(plaintext)).toContain(markerOf(`encrypted ${as}`));
    expect(await run(as, "clear")).toContain(markerOf(`clear ${as}`));
  }
  await server.stop();
  const everything = `${server.output()}${await keptIn(stateDir)}`;
  const found = (name: string) => kinds.filter((as) => everything.includes(markerOf(`${name} ${as}`)));
  expect(found("clear")).toEqual(kinds);
  expect(found("encrypted")).toEqual([]);
});
