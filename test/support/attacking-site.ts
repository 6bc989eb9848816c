import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import type { Attempt } from "./local-ports.ts";

/** Requests that a page sends to one base URL. */
export interface Target {
  base: string;
  attempts: Attempt[];
}

/** One request of a page, and what the page could see of its answer. */
export interface Outcome {
  url: string;
  method: string;
  way: "cors" | "no-cors" | "image" | "form";
  /** `read` with status and text, `opaque`, `blocked` or `no answer`. */
  outcome: string;
}

const script = readFileSync(new URL("attacking-page.js", import.meta.url), "utf8");

/** A website on this machine. Its pages attack their targets and report to it. */
export class AttackingSite {
  readonly #pages = new Map<string, string>();
  readonly #reported = new Map<string, (outcomes: Outcome[]) => void>();
  readonly #servers: Server[] = [];
  readonly #http = createServer(async (request, response) => {
    const [, kind = "", name = ""] = (request.url ?? "").split("/");
    if (kind === "report") this.#reported.get(name)?.(JSON.parse(await textOf(request)) as Outcome[]);
    response.writeHead(200, { "content-type": "text/html", connection: "close" }).end(this.#pages.get(name));
  });
  port = 0;

  async start(): Promise<void> {
    this.port = await this.#listen(this.#http);
  }

  /** Returns the HTML of a page that attacks, and its report. */
  attack(name: string, targets: Target[]): { html: string; report: Promise<Outcome[]> } {
    const report = new Promise<Outcome[]>((resolve) => this.#reported.set(name, resolve));
    const plan = JSON.stringify({ targets, report: `http://127.0.0.1:${this.port}/report/${name}` });
    const html = `<!doctype html><body><script type="application/json" id="plan">${plan}</script><script type="module">${script}</script>`;
    return { html, report };
  }

  /** Serves a page, and returns its path. */
  serve(name: string, html: string): string {
    this.#pages.set(name, html);
    return `/page/${name}`;
  }

  /**
   * Opens a port whose name first leads to the website and then to a server of this machine, as in DNS rebinding. Requests
   * for pages reach the website. The bytes of all others reach the server unchanged.
   */
  rebind(target: number): Promise<number> {
    const route = (socket: Socket) => {
      socket.on("error", () => {});
      socket.once("data", (first: Buffer) => {
        socket.pause();
        socket.unshift(first);
        if (first.toString("latin1").startsWith("GET /page/")) {
          this.#http.emit("connection", socket);
          socket.resume();
        } else {
          const server = connect(target, "127.0.0.1").on("error", () => socket.destroy());
          socket.pipe(server).pipe(socket);
        }
      });
    };
    return this.#listen(createTcpServer(route));
  }

  stop(): void {
    for (const server of this.#servers) server.close();
  }

  async #listen(server: Server): Promise<number> {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    this.#servers.push(server);
    return (server.address() as AddressInfo).port;
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
}
