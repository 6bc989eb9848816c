import type { Server } from "node:http";
import { guard, type Refuse, refuseLikeAws } from "./guard.ts";
import { listen } from "./listen.ts";

const graceMs = 1000;

/**
 * An idle connection is closed after this time, in milliseconds. Each answer says so, and clients of Node close theirs
 * a second before: otherwise a request could be sent on a connection that is just being closed. Each worker's clients
 * open dozens in a burst.
 */
const idleMs = 15_000;

/** A running server that listens on 127.0.0.1 only, and refuses requests of websites. */
export interface Endpoint {
  port: number;
  url: string;
  /** Takes no more requests. Running requests have one second to end, then their connections are closed. */
  close(): Promise<void>;
}

/**
 * Starts a server on 127.0.0.1; port 0 means any free port. All servers of this folder start here, so all are guarded.
 * @param refuse Answers the requests that the guard refuses.
 * @param webPages See `guard`.
 * @throws the system's error, such as EADDRINUSE for a taken port
 */
export async function open(
  server: Server,
  port: number,
  refuse: Refuse = refuseLikeAws,
  webPages: "refused" | "judged" = "refused",
): Promise<Endpoint> {
  guard(server, refuse, webPages);
  server.keepAliveTimeout = idleMs;
  const actual = await listen(server, port);
  return { port: actual, url: `http://127.0.0.1:${actual}`, close: () => close(server) };
}

/** Returns a function that does the work at its first call. Later calls wait for the same work. */
export function onlyOnce(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    // After its last request a connection is idle and would stay open for the client's next request.
    const closeIdle = setInterval(() => server.closeIdleConnections(), 10);
    const closeAll = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close((error) => {
      clearInterval(closeIdle);
      clearTimeout(closeAll);
      if (error) reject(error);
      else resolve();
    });
  });
}
