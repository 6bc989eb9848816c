import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from "aws-lambda";
import { Problem, type ProblemCode } from "../core/problem.ts";
import { problemResponse } from "../http/problem.ts";
import { type HttpFunction, otherRequests, routeOf } from "../http/routes.ts";
import { type Endpoint, open } from "./endpoint.ts";

/** Largest request body that API Gateway accepts, in bytes. It answers a larger request itself, without a function. */
const gatewayLimitBytes = 10 * 1024 * 1024;

type HttpHandler = (event: never, context: Context) => Promise<APIGatewayProxyStructuredResultV2>;
type Authorizer = (event: never) => Promise<{ isAuthorized: boolean; context: unknown }>;

export interface GatewayOptions {
  port: number;
  /** The functions that answer requests. */
  handlers: { readonly [name in HttpFunction]?: HttpHandler };
  authorizer: Authorizer;
  /** Called with a log line for each request. */
  onRequest(line: string): void;
}

/**
 * Starts an emulator of an HTTP API of API Gateway: events and answers in payload format 2.0. It calls the authorizer before
 * each route that needs one.
 */
export async function startGateway(options: GatewayOptions): Promise<Endpoint> {
  const reply = (request: IncomingMessage, response: ServerResponse, answering: Promise<Answer>) => {
    const startedAt = performance.now();
    answering
      .catch((error: unknown) => {
        options.onRequest(`A function failed: ${error instanceof Error ? error.stack : String(error)}`);
        return gatewayAnswer("internal", "The function failed. The local server's log has the error.");
      })
      .then((answer) => {
        send(response, request, answer);
        const ms = (performance.now() - startedAt).toFixed(0);
        const path = JSON.stringify((request.url ?? "").slice(0, 200)).slice(1, -1);
        options.onRequest(`${request.method} ${path} ${answer.status} ${ms} ms${answer.who ? ` ${answer.who}` : ""}`);
      });
  };
  const server = createServer((request, response) => reply(request, response, serve(options, request)));
  server.on("clientError", async (_, socket) => {
    const answer = await unreadableAnswer();
    if (socket.writable) socket.end(answer);
  });
  return open(server, options.port, (request, response, detail) =>
    reply(request, response, gatewayAnswer("forbidden", detail)),
  );
}

/** The raw answer to a request that Node's parser refused: it was not HTTP, or its headers were too long. */
async function unreadableAnswer(): Promise<string> {
  const detail = "The request is not valid HTTP, or its headers are larger than 16 KiB.";
  const { headers, body } = await gatewayAnswer("malformed_request", detail);
  const lines = Object.entries({ ...headers, connection: "close" }).map(([name, value]) => `${name}: ${value}`);
  return ["HTTP/1.1 400 Bad Request", ...lines, "", body].join("\r\n");
}

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string | Buffer;
  who?: string;
}

async function serve(options: GatewayOptions, request: IncomingMessage): Promise<Answer> {
  const body = await readBody(request);
  if (body === undefined) return gatewayAnswer("too_large", "The request is larger than 1 MiB.");
  const event = eventOf(request, body);
  const route = routeOf(event.requestContext.http.method, event.rawPath);
  let who = "";
  if (!route?.open) {
    const { context } = await options.authorizer({ ...event, type: "REQUEST", version: "2.0" } as never);
    Object.assign(event.requestContext, { authorizer: { lambda: context } });
    const { tenant_id, principal } = context as Record<string, string | undefined>;
    who = tenant_id === undefined ? "anonymous" : `${tenant_id}/${principal}`;
  }
  const handler = options.handlers[route?.functionName ?? otherRequests];
  if (handler === undefined) return gatewayAnswer("not_found", "No such route.");
  const result = await handler(event as never, {} as Context);
  return {
    status: result.statusCode ?? 200,
    headers: Object.fromEntries(Object.entries(result.headers ?? {}).map(([name, value]) => [name, String(value)])),
    body: result.isBase64Encoded === true ? Buffer.from(result.body ?? "", "base64") : (result.body ?? ""),
    who,
  };
}

/** An answer that API Gateway would give itself, without a function. Here it is a problem, too. */
async function gatewayAnswer(code: ProblemCode, detail: string): Promise<Answer> {
  const correlationId = randomUUID();
  const response = problemResponse(new Problem(code, detail), correlationId);
  const headers = { ...Object.fromEntries(response.headers), "x-correlation-id": correlationId };
  return { status: response.status, headers, body: await response.text() };
}

/** Reads the body. Returns undefined when it is larger than API Gateway accepts. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= gatewayLimitBytes) chunks.push(chunk);
  }
  return bytes > gatewayLimitBytes ? undefined : Buffer.concat(chunks);
}

/** A request as API Gateway passes it to a function: header names in lower case, repeated headers joined by commas. */
function eventOf(request: IncomingMessage, body: Buffer): APIGatewayProxyEventV2 {
  const [rawPath = "/", rawQueryString = ""] = splitOnce(request.url ?? "/", "?");
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(",") : value;
  }
  const text = isText(body);
  const method = request.method ?? "GET";
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath,
    rawQueryString,
    headers,
    body: text ? body.toString("utf8") : body.toString("base64"),
    isBase64Encoded: !text,
    requestContext: {
      accountId: "000000000000",
      apiId: "local",
      domainName: "127.0.0.1",
      domainPrefix: "local",
      http: {
        method,
        path: rawPath,
        protocol: "HTTP/1.1",
        sourceIp: request.socket.remoteAddress ?? "127.0.0.1",
        userAgent: headers["user-agent"] ?? "",
      },
      requestId: "local",
      routeKey: "$default",
      stage: "$default",
      time: new Date().toISOString(),
      timeEpoch: Date.now(),
    },
  };
}

const isText = (body: Buffer): boolean => Buffer.from(body.toString("utf8"), "utf8").equals(body);

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function send(response: ServerResponse, request: IncomingMessage, answer: Answer): void {
  const body = Buffer.isBuffer(answer.body) ? answer.body : Buffer.from(answer.body, "utf8");
  const withBody = answer.status !== 304 && answer.status !== 204;
  response.writeHead(answer.status, { ...answer.headers, ...(withBody ? { "content-length": body.length } : {}) });
  response.end(withBody && request.method !== "HEAD" ? body : undefined);
}
