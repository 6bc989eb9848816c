import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Door, Reply } from "../direct/doors.ts";
import { Database } from "../disk/database.ts";
import type { DiskFaults } from "../disk/disk-faults.ts";
import { onlyOnce, open } from "../net/endpoint.ts";
import { readBody } from "../net/request.ts";
import { isOperation, isRefusal } from "./table-operations.ts";
import { TableStore } from "./table-store.ts";

export interface TableOptions {
  /** 0 means any free port. */
  port: number;
  /** Folder of the tables. Undefined: they are in memory. */
  stateDir: string | undefined;
  /** Default: faults are not printed. */
  faults?: DiskFaults | undefined;
  /** The table that no client deletes, as one with DynamoDB's deletion protection. Absent: none. */
  kept?: string;
}

export interface Table {
  url: string;
  /** True when there was no table at the start. */
  isNew: boolean;
  /** The same operations without HTTP. */
  call: Door;
  /** Frees the room of deleted items on the disk, which LevelDB does much later. */
  giveRoomBack(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The file locks the state folder: LevelDB's own lock would be noticed only later. It lists the tables of the folder.
 */
const lockSchema = "CREATE TABLE IF NOT EXISTS tables (name TEXT PRIMARY KEY) STRICT;";

/**
 * Starts an emulator of DynamoDB on 127.0.0.1, with the tables that it had at its last stop.
 * @throws EADDRINUSE when the port is taken; Error with one line when another server uses the state folder, when it
 * cannot be written, or when the tables that it had are gone
 */
export async function startTable({ port, stateDir, faults, kept }: TableOptions): Promise<Table> {
  const lock = new Database({ stateDir, file: "table.lock", schema: lockSchema, faults });
  let store: TableStore | undefined;
  try {
    const opened = await TableStore.open(stateDir, faults);
    store = opened;
    const names = new TableNames(lock);
    const present = await opened.tableNames();
    names.check(present, opened.path);
    const run = (calling: () => Call) => replyOf(opened, { names, kept }, calling);
    const server = createServer((request, response) => answer(request, response, run));
    const endpoint = await open(server, port);
    return {
      url: endpoint.url,
      call: (operation, body) => run(() => ({ operation, input: JSON.parse(body) })),
      isNew: present.length === 0,
      giveRoomBack: () => opened.compact(),
      close: onlyOnce(async () => {
        await endpoint.close();
        await opened.close();
        lock.close();
      }),
    };
  } catch (error) {
    await store?.close();
    lock.close();
    throw error;
  }
}

/** The names of the tables that the folder had, by which the loss of their folder is noticed. */
class TableNames {
  readonly #names;
  readonly #add;
  readonly #remove;

  constructor(lock: Database) {
    this.#names = lock.prepare("SELECT name FROM tables");
    this.#add = lock.prepare("INSERT OR IGNORE INTO tables (name) VALUES (?)");
    this.#remove = lock.prepare("DELETE FROM tables WHERE name = ?");
  }

  /** @throws Error when a table of the last start is gone */
  check(present: readonly string[], path: string | undefined): void {
    const lost = this.#names.all().find(({ name }) => !present.includes(String(name)));
    if (lost !== undefined) {
      const advice = "Put the folder back, or delete the state folder to start with nothing.";
      throw new Error(`The folder ${path} is missing or has lost its data: it has no table "${lost.name}". ${advice}`);
    }
    for (const name of present) this.#add.run(name);
  }

  /** Keeps the names up to date after an operation. */
  follow(operation: string, input: { TableName?: string }): void {
    if (operation === "CreateTable") this.#add.run(String(input.TableName));
    if (operation === "DeleteTable") this.#remove.run(String(input.TableName));
  }
}

interface Call {
  operation: string;
  input: { TableName?: string };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  run: (calling: () => Call) => Promise<Reply>,
): Promise<void> {
  const body = await readBody(request);
  if (body === undefined) return;
  response.setHeader("content-type", "application/x-amz-json-1.0");
  response.setHeader("x-amzn-requestid", randomUUID());
  const reply = await run(() => callOf(request, body));
  response.statusCode = reply.status;
  response.end(JSON.stringify(reply.body));
}

/** @param calling Gives the call; throws a refusal when it is none. */
async function replyOf(
  store: TableStore,
  { names, kept }: { names: TableNames; kept: string | undefined },
  calling: () => Call,
): Promise<Reply> {
  try {
    const { operation, input } = calling();
    if (operation === "DeleteTable" && kept !== undefined && input.TableName === kept) throw protectedTable();
    const result = await store.run(operation, input);
    names.follow(operation, input);
    return { status: 200, body: { ...result } };
  } catch (error) {
    if (isRefusal(error)) return { status: error.statusCode, body: { ...error.body } };
    return { status: 500, body: internalError(error) };
  }
}

/** @throws Refusal when the request is not a call of a known operation */
function callOf({ method, headers }: IncomingMessage, body: Buffer): Call {
  const [api, operation = ""] = String(headers["x-amz-target"]).split(".");
  if (method !== "POST" || api !== "DynamoDB_20120810" || !isOperation(operation)) {
    throw refusal("com.amazon.coral.service#UnknownOperationException", "The request names no operation of DynamoDB.");
  }
  if (headers.authorization === undefined) {
    throw refusal(
      "com.amazon.coral.service#MissingAuthenticationTokenException",
      "Request is missing Authentication Token",
    );
  }
  try {
    return { operation, input: JSON.parse(body.toString()) };
  } catch {
    throw refusal("com.amazon.coral.service#SerializationException", "The request body is not JSON.");
  }
}

const protectedTable = () =>
  refusal(
    "com.amazon.coral.validate#ValidationException",
    "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.",
  );

const refusal = (__type: string, message: string) => ({ statusCode: 400, body: { __type, message } });

const internalError = (error: unknown) => ({
  __type: "com.amazonaws.dynamodb.v20120810#InternalServerError",
  message: error instanceof Error ? error.message : String(error),
});
