import type { Server } from "node:http";
import { listen } from "./listen.ts";

const graceMs = 1000;

/** A server that answers on this machine only. */
export interface Endpoint {
  port: number;
  url: string;
  /** Takes no more requests, lets running ones end for a second, then cuts them off. */
  close(): Promise<void>;
}

/**
 * Starts a server on 127.0.0.1; port 0 means any free port.
 * @throws the system's error, such as EADDRINUSE for a taken port.
 */
export async function open(server: Server, port: number): Promise<Endpoint> {
  // Longer than clients keep idle connections, so that none is closed under a request that is just being sent.
  server.keepAliveTimeout = 120_000;
  const actual = await listen(server, port);
  return { port: actual, url: `http://127.0.0.1:${actual}`, close: () => close(server) };
}

/** Work that is done at the first call; later calls wait for it. */
export function onlyOnce(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    // A connection that is idle again after its last request would stay open for its client's next one.
    const sweep = setInterval(() => server.closeIdleConnections(), 10);
    const cutOff = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close((error) => {
      clearInterval(sweep);
      clearTimeout(cutOff);
      if (error) reject(error);
      else resolve();
    });
  });
}
