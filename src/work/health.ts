import { createServer } from "node:http";
import type { WorkState } from "./supervisor.ts";

/**
 * Starts the health answers on all addresses of this machine: 200 while the worker takes tasks, 503 while it starts,
 * drains or is stalled.
 * @throws EADDRINUSE
 */
export async function startHealth(port: number, state: () => WorkState): Promise<{ port: number; close(): void }> {
  const server = createServer((_, response) => {
    const present = state();
    response.writeHead(present.status === "ok" ? 200 : 503, { "content-type": "application/json" });
    response.end(JSON.stringify(present));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, () => resolve());
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
