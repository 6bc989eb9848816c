import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parseWebhookKey } from "../../src/core/notify/secret.ts";
import { localWebhookKey } from "../../src/local/deployment/webhook-key.ts";

const parent = mkdtempSync(join(tmpdir(), "offload-webhook-key-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

test("the state folder keeps the key, and only its user can read it", () => {
  const stateDir = join(parent, "new", "state");
  const key = localWebhookKey(stateDir);
  expect(parseWebhookKey(key)).toHaveLength(32);
  expect(localWebhookKey(stateDir)).toBe(key);
  expect(readdirSync(stateDir)).toEqual(["webhook-key"]);
  expect(lstatSync(join(stateDir, "webhook-key")).mode & 0o777).toBe(0o600);
  expect(lstatSync(stateDir).mode & 0o777).toBe(0o700);
});

test("every state folder, and every server without one, has a key of its own", () => {
  const keys = [localWebhookKey(join(parent, "a")), localWebhookKey(join(parent, "b"))];
  keys.push(localWebhookKey(undefined), localWebhookKey(undefined));
  expect(new Set(keys).size).toBe(4);
});

test("a file that does not contain a key is an error that says what to do, and does not show its text", () => {
  const stateDir = mkdtempSync(join(parent, "broken-"));
  const file = join(stateDir, "webhook-key");
  writeFileSync(file, "half-of-a-k");
  expect(() => localWebhookKey(stateDir)).toThrow(
    `${file}: expected 32 bytes as base64. Delete the file: the next server makes a new key, and webhooks have new secrets.`,
  );
  expect(readFileSync(file, "utf8")).toBe("half-of-a-k");
});
