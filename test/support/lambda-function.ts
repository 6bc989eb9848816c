import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const runtime = fileURLToPath(new URL("lambda-runtime.mjs", import.meta.url));

/** One execution environment of a built function: a process that takes invocations from a Runtime API, one at a time. */
export class LambdaFunction {
  readonly process: ChildProcess;
  /** All that it has logged. */
  output = "";
  readonly #answers = new Map<string, (answer: unknown) => void>();
  #queue: { id: string; event: unknown }[] = [];
  #asks: (() => void) | undefined;
  #next: ServerResponse | undefined;
  #invocations = 0;
  readonly #ended: Promise<number | null>;

  private constructor(entry: string, env: Record<string, string>, host: string) {
    const { PATH = "" } = process.env;
    const given = { PATH, ...env, AWS_LAMBDA_RUNTIME_API: host };
    const cwd = dirname(entry);
    this.process = spawn(process.execPath, [runtime, entry], { cwd, env: given, stdio: ["ignore", "pipe", "pipe"] });
    this.#ended = once(this.process, "exit").then(() => this.process.exitCode);
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.on("data", (part: Buffer) => {
        this.output += part.toString("utf8");
      });
    }
  }

  /** Starts the function whose handler the file exports. */
  static async start(entry: string, env: Record<string, string>): Promise<LambdaFunction> {
    let started: LambdaFunction | undefined;
    const server = createServer(async (request, response) => {
      const body: Buffer[] = [];
      for await (const chunk of request) body.push(chunk as Buffer);
      started?.onRequest(request.url ?? "", Buffer.concat(body).toString("utf8"), response);
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const made = new LambdaFunction(entry, env, `127.0.0.1:${(server.address() as AddressInfo).port}`);
    started = made;
    made.process.once("exit", () => {
      server.closeAllConnections();
      server.close();
    });
    return made;
  }

  onRequest(path: string, body: string, response: ServerResponse): void {
    if (path.endsWith("/next")) {
      this.#next = response;
      this.#asks?.();
      this.#hand();
      return;
    }
    const [, id = "", what] = /invocation\/([^/]+)\/(response|error)$/.exec(path) ?? [];
    response.writeHead(202).end("{}");
    const answer: unknown = JSON.parse(body);
    this.#answers.get(id)?.(what === "error" ? new Error(body) : answer);
  }

  /** Resolves with the answer to an event, which may be an error: that of the function, or its end without an answer. */
  invoke(event: unknown): Promise<unknown> {
    const id = `request-${++this.#invocations}`;
    const answer = new Promise<unknown>((resolve) => this.#answers.set(id, resolve));
    this.#queue.push({ id, event });
    this.#hand();
    const ended = this.ended().then((code) => new Error(`the function ended with ${code}: ${this.output}`));
    return Promise.race([answer, ended]);
  }

  /** Resolves with true when it asks for its next invocation, and with false when it has ended. */
  async asksForNext(): Promise<boolean> {
    if (this.#next !== undefined) return true;
    const asks = new Promise<boolean>((resolve) => {
      this.#asks = () => resolve(true);
    });
    return Promise.race([asks, this.ended().then(() => false)]);
  }

  /** Resolves when it has logged a text. */
  async logged(text: string): Promise<void> {
    while (!this.output.includes(text)) {
      if (this.process.exitCode !== null)
        throw new Error(`the function ended with ${this.process.exitCode}: ${this.output}`);
      await sleep(20);
    }
  }

  /** Resolves with its exit code. */
  ended(): Promise<number | null> {
    return this.#ended;
  }

  #hand(): void {
    const [first] = this.#queue;
    if (this.#next === undefined || first === undefined) return;
    this.#queue = this.#queue.slice(1);
    const headers = {
      "lambda-runtime-aws-request-id": first.id,
      "lambda-runtime-deadline-ms": String(Date.now() + 900_000),
    };
    this.#next.writeHead(200, headers).end(JSON.stringify(first.event));
    this.#next = undefined;
  }
}
