import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Load, runGroups } from "../../../src/tools/cli/program.ts";
import type { Terminal } from "../../../src/tools/cli/terminal.ts";
import { quietTerminal } from "../../support/quiet-terminal.ts";

/** A request as the stub got it. */
export interface Seen {
  method: string;
  path: string;
  query: Record<string, string>;
  authorization: string | undefined;
  headers: Record<string, string | string[] | undefined>;
  body: unknown;
}

/** What the stub answers: a status and a JSON body, or the whole answer. */
export type Answer = {
  status?: number;
  json?: unknown;
  text?: string;
  type?: string;
  headers?: Record<string, string>;
};

/** An API that answers what a test says, on a free port. */
export class StubApi {
  readonly seen: Seen[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param answer Called for each request, in their order. */
  static async start(answer: (request: Seen, index: number) => Answer): Promise<StubApi> {
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString("utf8");
      const url = new URL(request.url ?? "/", "http://stub");
      const seen = {
        method: request.method ?? "",
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        authorization: request.headers.authorization,
        headers: request.headers,
        body: text === "" ? undefined : jsonIn(text),
      };
      stub.seen.push(seen);
      const { status = 200, json, text: plain, type, headers } = answer(seen, stub.seen.length - 1);
      const media = type ?? (status >= 400 ? "application/problem+json" : "application/json");
      response.writeHead(status, { "content-type": media, connection: "close", ...headers });
      response.end(plain ?? JSON.stringify(json));
    });
    const stub = new StubApi(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return stub;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A body, as JSON where it is JSON. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What a command wrote, and its exit code. */
export interface Ran {
  code: number;
  out: string;
  notes: string;
  questions: string[];
}

/** Runs command lines in this process. */
export function commandLine(run: (args: readonly string[], terminal: Terminal) => Promise<number>) {
  /**
   * Runs a command line as it is.
   * @param yes What is answered to questions. Default: nobody can be asked.
   * @param special Members of the terminal that differ from a pipe's.
   */
  async function bare(args: readonly string[], yes?: boolean, special: Partial<Terminal> = {}): Promise<Ran> {
    const ran: Ran = { code: 0, out: "", notes: "", questions: [] };
    const terminal: Terminal = {
      ...quietTerminal,
      out: (line) => {
        ran.out += `${line}\n`;
      },
      note: (line) => {
        ran.notes += `${line}\n`;
      },
      progress: (line) => terminal.note(line),
      bytes: (data) => {
        ran.out += new TextDecoder().decode(data);
      },
      confirm: async (question) => {
        ran.questions.push(question);
        return yes;
      },
      ...special,
    };
    ran.code = await run(args, terminal);
    return ran;
  }

  /** Runs a command line against a stub. */
  const offload = (url: string, args: readonly string[], yes?: boolean, special?: Partial<Terminal>): Promise<Ran> =>
    bare([...args, "--url", url, "--key", "a-key"], yes, special);
  return { bare, offload };
}

/** A program with these groups of commands alone: a test of one group does without the code of all others. */
export const programOf = (groups: Readonly<Record<string, Load>>) =>
  commandLine((args, terminal) =>
    runGroups(Object.fromEntries(Object.entries(groups).map(([name, load]) => [name, ["", load]])), args, terminal),
  );

export const problem = (status: number, code: string, detail: string): Answer => ({
  status,
  json: { type: `urn:offload:error:${code}`, code, title: code, status, detail, correlation_id: "corr-7" },
});
