import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand, ScanCommand } from "@aws-sdk/lib-dynamodb";
import { DynamoTable, type Item } from "../../src/aws/dynamo-table.ts";
import { createTable } from "../../src/local/dynamodb/create-table.ts";
import { startTable } from "../../src/local/dynamodb/table.ts";
import { type StoredForm, storedForms } from "./stored-forms.ts";
import { storedTexts } from "./stored-texts.ts";
import { writtenShapes } from "./written-shapes.ts";

const folder = join(import.meta.dirname, "../golden");

/** A form as a release writes it. */
export interface Golden {
  /** The first release that reads it. It has to be an earlier one than the first that writes it. */
  read_since: string;
  /** Items of the table, a text of a message, or paths of what the core writes. */
  written: unknown;
  /** The value that its reader returns. Absent: paths have no reader. */
  read?: unknown;
}

/** All forms of a release, by their names. */
export type Goldens = Record<string, Golden>;

/** The releases that have a file of forms. */
export const goldenReleases = (): string[] =>
  readdirSync(folder)
    .map((name) => name.replace(/\.json$/, ""))
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));

export const readGoldens = (release: string): Goldens =>
  JSON.parse(readFileSync(join(folder, `${release}.json`), "utf8")) as Goldens;

export const writeGoldens = (release: string, goldens: Goldens): void => {
  const sorted = Object.fromEntries(Object.entries(goldens).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(join(folder, `${release}.json`), `${JSON.stringify(sorted, undefined, 1)}\n`);
};

/** A value as JSON has it: bytes as text, members in order. The packing of the catalogue differs between versions of zlib. */
export function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) {
    return value[0] === 0x1f && value[1] === 0x8b
      ? { $gzip: gunzipSync(value).toString() }
      : { $bytes: Buffer.from(value).toString("base64") };
  }
  if (value instanceof Map) return plain(Object.fromEntries(value));
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, plain(one)]));
}

/** An item as the table had it. */
const itemOf = (stored: unknown): Item =>
  Object.fromEntries(
    Object.entries(stored as Item).map(([name, value]) => {
      const { $bytes, $gzip } = (value ?? {}) as { $bytes?: string; $gzip?: string };
      if ($bytes !== undefined) return [name, Buffer.from($bytes, "base64")];
      return [name, $gzip === undefined ? value : gzipSync($gzip)];
    }),
  );

/** A table of its own. */
async function ownTable() {
  const server = await startTable({ port: 0, stateDir: undefined });
  const name = "forms";
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new DynamoDBClient({ region: "us-east-1", endpoint: server.url, credentials });
  await createTable(client, name);
  const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
  const close = async () => {
    client.destroy();
    await server.close();
  };
  return { table: new DynamoTable(documents, name), documents, TableName: name, close };
}

/** The items that a form's store writes, and what it reads back. */
async function ofStore(form: StoredForm): Promise<Omit<Golden, "read_since">> {
  const { table, documents, TableName, close } = await ownTable();
  try {
    const place = { table, documents };
    await form.write(place);
    const { Items: items = [] } = await documents.send(new ScanCommand({ TableName }));
    const inOrder = items.sort((a, b) => (`${a.pk} ${a.sk}` < `${b.pk} ${b.sk}` ? -1 : 1));
    return { written: plain(inOrder), read: plain(await form.read(place)) };
  } finally {
    await close();
  }
}

/** Reads a form as a release has written it with the present reader. Undefined: the form has no reader. */
export async function readAgain(name: string, { written }: Golden): Promise<unknown> {
  const text = storedTexts.find((one) => one.name === name);
  if (text !== undefined) return plain(text.read(String(written)));
  const form = storedForms.find((one) => one.name === name);
  if (form === undefined) return undefined;
  const { table, documents, TableName, close } = await ownTable();
  try {
    for (const item of written as unknown[]) await documents.send(new PutCommand({ TableName, Item: itemOf(item) }));
    return plain(await form.read({ table, documents }));
  } finally {
    await close();
  }
}

/** All forms as this commit writes them. */
export async function presentForms(): Promise<Record<string, Omit<Golden, "read_since">>> {
  const forms: Record<string, Omit<Golden, "read_since">> = {};
  for (const form of storedForms) forms[form.name] = await ofStore(form);
  for (const text of storedTexts) {
    const written = await text.write();
    forms[text.name] = { written, read: plain(text.read(written)) };
  }
  for (const [name, paths] of Object.entries(await writtenShapes())) forms[`core: ${name}`] = { written: paths };
  return forms;
}
