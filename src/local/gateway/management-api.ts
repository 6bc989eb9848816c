import { createServer, type IncomingMessage } from "node:http";
import { type Endpoint, open } from "../net/endpoint.ts";
import { readBody } from "../net/request.ts";

/** Largest message to a client, in bytes. */
const largestMessageBytes = 128 * 1024;

/** Sends and closes by the id of a connection. */
export interface ManagedConnections {
  /** `gone`: there is no such connection. `full`: the client does not read. */
  post(connectionId: string, text: string): "sent" | "gone" | "full";
  /** Closes a connection. False: there is no such connection. */
  end(connectionId: string): boolean;
}

/** Starts an emulator of the management API of a WebSocket API: POST and DELETE of `/@connections/{id}`. */
export function startManagementApi(connections: ManagedConnections): Promise<Endpoint> {
  const server = createServer(async (request, response) => {
    const body = await readBody(request);
    if (body === undefined) return;
    const [status, name] = answer(connections, request, body);
    response.writeHead(status, { "content-type": "application/json", ...(name && { "x-amzn-errortype": name }) });
    response.end(name && JSON.stringify({ message: name }));
  });
  return open(server, 0);
}

/** Status, and the name of the error. */
type Outcome = [status: number, error?: string];

const gone: Outcome = [410, "GoneException"];

function answer(connections: ManagedConnections, { method, url = "" }: IncomingMessage, body: Buffer): Outcome {
  const id = /^\/@connections\/([^/?#]+)$/.exec(url)?.[1];
  if (id === undefined || (method !== "POST" && method !== "DELETE")) return [404, "NotFoundException"];
  const connectionId = decoded(id);
  if (method === "DELETE") return connections.end(connectionId) ? [204] : gone;
  if (body.length > largestMessageBytes) return [413, "PayloadTooLargeException"];
  const outcomes = { sent: [200], gone, full: [429, "LimitExceededException"] } as const;
  return [...outcomes[connections.post(connectionId, body.toString("utf8"))]] as Outcome;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
