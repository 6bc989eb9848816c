import { readFile } from "node:fs/promises";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

/** Files of the page, by their path. */
const files: Readonly<Record<string, [name: string, type: string]>> = {
  "/": ["page.html", "text/html; charset=utf-8"],
  "/page.js": ["page.js", "text/javascript; charset=utf-8"],
};

/**
 * Creates the backend of the page. It keeps the API key: the page gets only the URL of a channel, and the tasks. A real backend first checks
 * who its user is. A channel hears all tasks of its key, so several users need a token of their own each: see docs/push.md.
 */
export function createBackend(offload: { url: string; key: string }): RequestListener {
  const call = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${offload.key}`, "content-type": "application/json" };
    return fetch(new URL(path, offload.url), {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  };
  const answer = async (request: IncomingMessage): Promise<Response> => {
    const { method = "", url = "/" } = request;
    const task = /^\/reports\/([\w-]+)$/.exec(url)?.[1];
    if (method === "GET" && task !== undefined) return call("GET", `/tasks/${task}`);
    if (method === "POST" && url === "/channel") return call("POST", "/channels", {});
    if (method === "POST" && url === "/reports") {
      return call("POST", "/tasks", { type: "report.make", input: { name: "A report" } });
    }
    const [name, type] = files[url] ?? [];
    if (method !== "GET" || name === undefined) return new Response("no such page", { status: 404 });
    const text = await readFile(new URL(name, import.meta.url), "utf8");
    return new Response(text, { headers: { "content-type": type ?? "" } });
  };
  return (request, response) => {
    answer(request).then(
      (found) => send(response, found),
      (error: unknown) => send(response, new Response(String(error), { status: 502 })),
    );
  };
}

async function send(response: ServerResponse, found: Response): Promise<void> {
  const type = found.headers.get("content-type") ?? "text/plain";
  response.writeHead(found.status, { "content-type": type, "cache-control": "no-store" });
  response.end(await found.text());
}
