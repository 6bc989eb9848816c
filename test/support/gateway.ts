import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { request as httpsRequest, Agent as SecureAgent } from "node:https";
import type { AddressInfo } from "node:net";

/** Where an emulated account serves an API: its endpoint and the API's id. */
export interface GatewayTarget {
  endpoint: URL;
  apiId: string;
}

/** A plain base URL for an emulated HTTP API. */
export interface Gateway {
  url: string;
  close(): Promise<void>;
}

/** An emulator runs a process for each invocation: more requests than these wait. */
const mostUnderWay = 6;

/**
 * Serves an emulated HTTP API on a loopback port. Emulators tell APIs apart by the `Host` header, and answer `/health` of
 * any host themselves; by its path an API has all paths to itself.
 */
export async function openGateway({ endpoint, apiId }: GatewayTarget): Promise<Gateway> {
  const secure = endpoint.protocol === "https:";
  const agent = new (secure ? SecureAgent : Agent)({ keepAlive: true, maxSockets: mostUnderWay });
  const forward = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const options = {
      agent,
      method: incoming.method,
      path: `/_aws/execute-api/${apiId}/$default${incoming.url}`,
      headers: { ...incoming.headersDistinct, host: endpoint.host },
    };
    const upstream = (secure ? httpsRequest : httpRequest)(endpoint, options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    upstream.on("error", (error) => {
      if (outgoing.headersSent) outgoing.destroy(error);
      else outgoing.writeHead(502).end(String(error));
    });
    incoming.pipe(upstream);
  };
  const server = createServer(forward);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
