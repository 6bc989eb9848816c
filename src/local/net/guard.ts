import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";

/** Names of this machine in a URL. A website cannot own one of them, unlike `localhost.` or `127.0.0.1.example`. */
const localNames = ["127.0.0.1", "localhost", "[::1]"];

/** Answers a refused request. `detail` says why, without text of the request. */
export type Refuse = (request: IncomingMessage, response: ServerResponse, detail: string) => void;

/**
 * Makes a server refuse the requests of websites that the user of this machine visits. Call it when the server has all
 * its listeners. They get only the other requests, and those without `Origin`, to which a library may answer with CORS
 * headers.
 * @param webPages `judged`: the listeners get requests of websites, with `Origin`, and decide themselves.
 */
export function guard(server: Server, refuse: Refuse, webPages: "refused" | "judged" = "refused"): void {
  const listeners = server.listeners("request") as RequestListener[];
  server.removeAllListeners("request");
  server.on("request", (request: IncomingMessage, response: ServerResponse<IncomingMessage>) => {
    const judged = webPages === "judged";
    const detail = judged ? hostRefusalOf(request) : refusalOf(request, request.socket.localPort);
    if (detail !== undefined) return refuse(request, response, detail);
    if (!judged) delete request.headers.origin;
    for (const listener of listeners) listener.call(server, request, response as Parameters<RequestListener>[1]);
  });
}

/** Refuses a request in the shape that AWS's JSON protocols have. */
export const refuseLikeAws: Refuse = (_, response, detail) => {
  response.writeHead(403, { "content-type": "application/json" });
  response.end(JSON.stringify({ __type: "AccessDeniedException", message: detail }));
};

/**
 * Returns why a request is refused, or undefined when it is allowed.
 *
 * - A website whose name points to this machine (DNS rebinding) sends its own name as `Host`.
 * - A browser adds the page's `Origin` to all requests that a page makes, except GET and HEAD without CORS. Requests
 *   without an `Origin` change nothing here, and the page cannot read the answers.
 *
 * @param port Port of the server, which must also be the port of an `Origin`.
 */
export function refusalOf(request: Head, port: number | undefined): string | undefined {
  const refused = hostRefusalOf(request);
  if (refused !== undefined) return refused;
  const { origin: origins = [] } = request.headersDistinct;
  const own = localNames.map((name) => `http://${name}${port === 80 ? "" : `:${port}`}`);
  if (origins.every((origin) => own.includes(origin))) return undefined;
  return "This server does not accept requests of web pages from other origins.";
}

type Head = Pick<IncomingMessage, "headersDistinct" | "url">;

/** Returns why a request for another host than this machine is refused, or undefined when it is allowed. */
export function hostRefusalOf({ headersDistinct, url = "" }: Head): string | undefined {
  const { host: hosts = [] } = headersDistinct;
  const target = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url);
  if (hosts.length === 1 && hosts.every(isLocal) && (target === null || isLocal(target[1] ?? ""))) return undefined;
  return `This server accepts only the hosts ${localNames.join(", ")} in a URL and in the Host header.`;
}

const isLocal = (host: string): boolean => localNames.includes(host.toLowerCase().replace(/:\d{1,5}$/, ""));
