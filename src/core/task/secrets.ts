import { SecretUnreadable } from "../model/errors.ts";
import type { Clock, Log } from "../ports/tasks.ts";
import type { SecretSource } from "./environment.ts";
import { handlersWithin } from "./process.ts";
import type { TaskType } from "./task.ts";

/** Reads secrets where they are stored. */
export interface SecretReader {
  /** Returns the text of a secret or parameter. @throws Error whose `name` is the code of the store's refusal */
  read(source: SecretSource): Promise<string>;
}

export interface SecretPorts {
  clock: Clock;
  log: Log;
  reader: SecretReader;
  /** Gets the values, as variables. */
  env: Record<string, string | undefined>;
}

/** Secrets by the names of their variables. */
export type Secrets = Readonly<Record<string, SecretSource>>;

/** A value older than this is read again, so that a rotated secret reaches running workers. */
const freshMs = 5 * 60_000;

/** Pause after a failed refresh. */
const pauseMs = 30_000;

/** One place in AWS, and the variables that get its text or fields of it. */
interface Place {
  source: SecretSource;
  /** For log lines and errors, without account and Region. */
  label: string;
  fields: { name: string; field: string | undefined }[];
  /** Epoch milliseconds from which it is read again. Undefined: never read. */
  readAgainAt?: number;
}

/**
 * Returns a function that reads the secrets into variables: at its first call, and when the values are older than five
 * minutes. Calls at the same time share one read. If a refresh fails, the last value stays.
 * @throws SecretUnreadable from that function, while a secret was never read
 */
export function secretLoader(ports: SecretPorts, secrets: Secrets): () => Promise<void> {
  const places = placesOf(secrets);
  let running: Promise<void> | undefined;
  return async () => {
    const now = ports.clock.now();
    const due = places.filter(({ readAgainAt }) => readAgainAt === undefined || readAgainAt <= now);
    if (due.length === 0) return;
    running ??= Promise.all(due.map((place) => refresh(ports, place)))
      .then(() => {})
      .finally(() => {
        running = undefined;
      });
    await running;
  };
}

/** Task types whose handlers start after the secrets are read. A secret that cannot be read fails the attempt. */
export const withSecrets = (types: readonly TaskType[], load: () => Promise<void>): TaskType[] =>
  handlersWithin(types, async (call) => {
    await load();
    return call();
  });

/** Groups variables by their secret, so that two fields of one secret are one read. */
function placesOf(secrets: Secrets): Place[] {
  const places = new Map<string, Place>();
  for (const [name, source] of Object.entries(secrets)) {
    const label = labelOf(source);
    const place = places.get(label) ?? { source, label, fields: [] };
    place.fields.push({ name, field: "field" in source ? source.field : undefined });
    places.set(label, place);
  }
  return [...places.values()];
}

/** An ARN contains account and Region, which clients who read a task's error must not see. */
const labelOf = (source: SecretSource): string =>
  "parameterName" in source
    ? `parameter ${source.parameterName.replace(/^arn:.*?:parameter(?=\/)/, "")}`
    : `secret ${source.secretName.replace(/^arn:.*?:secret:/, "")}`;

async function refresh({ clock, log, reader, env }: SecretPorts, place: Place): Promise<void> {
  try {
    const text = await reader.read(place.source);
    const values = place.fields.map(({ name, field }) => [name, field === undefined ? text : fieldOf(text, field)]);
    Object.assign(env, Object.fromEntries(values));
    place.readAgainAt = clock.now() + freshMs;
  } catch (error) {
    const reason = reasonOf(error);
    const isFirst = place.readAgainAt === undefined;
    const fields = { source: place.label, reason };
    if (isFirst) {
      log.error("could not read a secret; the attempts that wait for it fail and are tried again", fields);
      throw new SecretUnreadable(place.label, place.fields.map(({ name }) => name).join(", "), reason);
    }
    log.warn("could not refresh a secret; its last value stays in use", fields);
    place.readAgainAt = clock.now() + pauseMs;
  }
}

/** A secret that was read is not as declared. Its message contains no part of the value. */
export class UnexpectedSecret extends Error {
  static override readonly name: string = "UnexpectedSecret";
}

/** @throws UnexpectedSecret when the text is not a JSON object with this field */
function fieldOf(text: string, field: string): string {
  const value = membersOf(text)[field];
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new UnexpectedSecret(`it is not a JSON object with a text in the field ${field}`);
}

/** Node's own error for invalid JSON would show a part of the text. */
function membersOf(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The code of the store's refusal, and no message, which could contain account ids and names of roles. */
const reasonOf = (error: unknown): string => {
  if (error instanceof UnexpectedSecret) return error.message;
  if (!(error instanceof Error)) return "unknown error";
  const { code } = error as { code?: unknown };
  return error.name === "Error" && typeof code === "string" ? code : error.name;
};
