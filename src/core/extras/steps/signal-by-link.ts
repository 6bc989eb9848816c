import * as z from "zod";
import type { CountRequest } from "../../limits/gate.ts";
import { parseInput } from "../../model/invalid.ts";
import { hashSecret } from "../../model/keys.ts";
import { Problem } from "../../model/problem.ts";
import { isKept, type TaskRecord } from "../../model/record.ts";
import type { SignalLink, SignalLinks } from "../../ports/steps.ts";
import { checkSignal } from "../../task/handler-submit.ts";
import { valueText } from "../../task/json-value.ts";
import { type SignalPorts, signal } from "./signal.ts";

export interface LinkPorts extends SignalPorts {
  links: SignalLinks;
  /** Absent: signals have no rate. */
  countRequest?: CountRequest;
}

/** A body as it came: JSON, or the fields of a form, whose values are texts. */
export type LinkBody = { json: unknown } | { fields: Readonly<Record<string, unknown>> };

/**
 * Sends the signal of a link. Its answers tell nothing of the task.
 * @throws Problem `not_found` for a link that is unknown or has expired; `invalid_input`, `too_large`; `conflict` after
 * another answer, and when the task takes none; `rate_limited`
 */
export async function signalByLink(ports: LinkPorts, secret: string, given: LinkBody): Promise<void> {
  const { link, record } = await linkedTask(ports, secret);
  const body = bodyOf(link, given);
  checkSignal(link.name, body);
  await ports.countRequest?.(record.tenant_id);
  try {
    await signal(ports, record, link.name, body);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "conflict") throw error;
    // A repeat changes nothing, also after the task's end.
    if (await hasSignal(ports, record, link.name, body)) return;
    throw new Problem("conflict", "This link was used with another answer, or the time for an answer is over.");
  }
}

async function linkedTask(
  { links, records, clock }: LinkPorts,
  secret: string,
): Promise<{ link: SignalLink; record: TaskRecord }> {
  const link = await links.find(hashSecret(secret), clock.now());
  const record = link && (await records.get({ tenant_id: link.tenant_id, task_id: link.task_id }, "consistently"));
  if (link !== undefined && record?.created_at === link.created_at && isKept(record, clock.now())) {
    return { link, record };
  }
  throw new Problem("not_found", "This link is not valid, or has expired.");
}

async function hasSignal({ steps }: LinkPorts, record: TaskRecord, name: string, body: unknown): Promise<boolean> {
  const signals = await steps.load(record, "signal");
  const found = signals.find((entry) => entry.name === name);
  return found?.timed_out !== true && found?.value === (valueText(body ?? null, "the signal") ?? "null");
}

interface JsonSchema {
  type?: unknown;
  properties?: Readonly<Record<string, JsonSchema>>;
}

function bodyOf({ schema: text }: SignalLink, given: LinkBody): unknown {
  if (text === undefined) return "fields" in given ? given.fields : given.json;
  const schema = JSON.parse(text) as JsonSchema;
  const body = "fields" in given ? typedFields(schema, given.fields) : given.json;
  parseInput(z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema), body);
  return body;
}

/** Texts of a form become the numbers, true and false that the schema asks for. */
const typedFields = ({ properties = {} }: JsonSchema, fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, text]) => [
      name,
      Object.hasOwn(properties, name) ? typed(properties[name]?.type, text) : text,
    ]),
  );

function typed(type: unknown, text: unknown): unknown {
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  const isNumber = (type === "number" || type === "integer") && typeof text === "string" && text.trim() !== "";
  return isNumber && Number.isFinite(Number(text)) ? Number(text) : text;
}
