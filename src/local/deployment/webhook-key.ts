import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseWebhookKey } from "../../core/notify/secret.ts";

/**
 * Returns the local server's master key of webhooks as base64. The state folder keeps it, readable by this user only.
 * Without a folder each server has a new key.
 * @throws Error when the file does not contain a key
 */
export function localWebhookKey(stateDir: string | undefined): string {
  if (stateDir === undefined) return newKey();
  const file = join(stateDir, "webhook-key");
  if (!existsSync(file)) createFile(stateDir, file);
  const key = readFileSync(file, "utf8").trim();
  try {
    parseWebhookKey(key);
  } catch (error) {
    const advice = "Delete the file: the next server makes a new key, and webhooks have new secrets.";
    throw new Error(`${file}: ${(error as Error).message}. ${advice}`, { cause: error });
  }
  return key;
}

const newKey = (): string => randomBytes(32).toString("base64");

/** The file gets its name last, so that a server that dies here leaves no half of it. */
function createFile(stateDir: string, file: string): void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, `${newKey()}\n`, { mode: 0o600 });
  renameSync(unfinished, file);
}
