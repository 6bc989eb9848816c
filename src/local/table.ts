import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { join } from "node:path";
import dynalite from "dynalite";
import { openDatabase } from "./database.ts";
import { onlyOnce, open } from "./endpoint.ts";
import { readBody, replay } from "./request.ts";

export interface TableOptions {
  /** 0 means any free port. */
  port: number;
  /** Folder of the tables. Undefined: they are in memory. */
  stateDir: string | undefined;
}

export interface Table {
  url: string;
  close(): Promise<void>;
}

/**
 * Starts an emulator of DynamoDB on 127.0.0.1, with the tables that it had at its last stop.
 * @throws EADDRINUSE when the port is taken; Error when another server uses the state directory
 */
export async function startTable({ port, stateDir }: TableOptions): Promise<Table> {
  // This file only locks the directory. dynalite opens a directory in use without an error, and later throws where no one
  // can catch it.
  const lock = openDatabase(stateDir, "table.lock", "");
  const path = stateDir === undefined ? {} : { path: join(stateDir, "table") };
  const server = dynalite({ ...path, createTableMs: 0, updateTableMs: 0, deleteTableMs: 0 });
  readFirst(server);
  try {
    const endpoint = await open(server, port);
    return {
      url: endpoint.url,
      close: onlyOnce(async () => {
        await endpoint.close();
        lock.close();
      }),
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Passes only complete requests to dynalite, which throws when a client such as a dying worker disconnects. */
function readFirst(server: Server): void {
  const [handle] = server.listeners("request") as RequestListener[];
  server.removeAllListeners("request");
  server.on("request", async (request: IncomingMessage, response: ServerResponse<IncomingMessage>) => {
    const body = await readBody(request);
    if (body !== undefined) handle?.(replay(request, body), response as Parameters<RequestListener>[1]);
  });
}
