import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";
import { problemResponse } from "../../api/http/problem.ts";
import { type HttpFunction, isOpen, otherRequests, routeOf } from "../../api/http/routes.ts";
import { Problem, type ProblemCode } from "../../core/model/problem.ts";
import { apiTimeoutSeconds, statusTimeoutSeconds } from "../../settings/config.ts";
import { type HttpHandler, InvocationFailed, type InvocationLimits, invoke, isTooLarge } from "../lambda/invocation.ts";
import { type Endpoint, open } from "../net/endpoint.ts";
import { movedMs, serverNow } from "../time/moved-time.ts";
import { eventOf } from "./gateway-event.ts";
import type { Submits } from "./submits.ts";
import { asksForWebSocket, withoutUpgrade } from "./upgrade.ts";

/** Largest request body that API Gateway accepts, in bytes. It answers a larger request itself, without a function. */
const gatewayLimitBytes = 10 * 1024 * 1024;

/** A client that sent no complete request in time has this time to read the answer, in milliseconds. */
const lingerMs = 1_000;

/** Time limits, in milliseconds. */
interface GatewayLimits extends Pick<InvocationLimits, "integrationMs"> {
  /** Time-outs of the functions. */
  functionMs: Readonly<Record<HttpFunction | "authorizer", number>>;
  /** A request must arrive within this time, with its body. */
  requestMs: number;
}

/** The limits of a deployment. */
const deployedLimits: GatewayLimits = {
  functionMs: {
    submit: apiTimeoutSeconds * 1000,
    status: statusTimeoutSeconds * 1000,
    control: apiTimeoutSeconds * 1000,
    console: apiTimeoutSeconds * 1000,
    authorizer: apiTimeoutSeconds * 1000,
  },
  integrationMs: 30_000,
  requestMs: 30_000,
};

/** Time of a function on a machine that is busy with other work, in milliseconds. */
const busyMs = 300_000;

/**
 * The limits of the local server. Its functions run Offload's own code only, so a slow one is a busy machine: the
 * request is slow, and not refused.
 */
export const busyMachineLimits: Partial<GatewayLimits> = {
  functionMs: { submit: busyMs, status: busyMs, control: busyMs, console: busyMs, authorizer: busyMs },
  integrationMs: busyMs,
};

type Authorizer = (event: never) => Promise<{ isAuthorized: boolean; context: unknown }>;

export interface GatewayOptions {
  port: number;
  /** The functions that answer requests. */
  handlers: { readonly [name in HttpFunction]?: HttpHandler };
  authorizer: Authorizer;
  /** Answers the paths below `/_local/`, which no deployment has. Default: there are none. */
  local?: HttpHandler;
  /** Called with a log line for each request, except for polls that find nothing new (304). */
  onRequest(line: string): void;
  /** Connections of a WebSocket API on the same port. Default: none. */
  webSockets?: { path: string; upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void };
  /** Default: those of a deployment. */
  limits?: Partial<GatewayLimits>;
  /** Default: all submits run at once. */
  submits?: Submits;
}

/**
 * Starts an emulator of an HTTP API of API Gateway: events and answers in payload format 2.0. It calls the authorizer
 * before each route that needs one, and enforces the limits of API Gateway and Lambda.
 */
export async function startGateway(options: GatewayOptions): Promise<Endpoint> {
  const limits = { ...deployedLimits, ...options.limits };
  const reply = (request: IncomingMessage, response: ServerResponse, answering: Promise<Answer | undefined>) => {
    const startedAt = performance.now();
    answered.delete(request.socket);
    answering
      .catch((error: unknown) => failureAnswer(options, error))
      .then((answer) => {
        const ms = (performance.now() - startedAt).toFixed(0);
        const path = JSON.stringify((request.url ?? "").slice(0, 200)).slice(1, -1);
        const outcome = answer?.status ?? "the client disconnected";
        if (answer !== undefined) send(response, request, answer);
        if (outcome === 304) return;
        options.onRequest(`${request.method} ${path} ${outcome} ${ms} ms${answer?.who ? ` ${answer.who}` : ""}`);
      });
  };
  const times = { headersTimeout: limits.requestMs, requestTimeout: limits.requestMs };
  const { webSockets } = options;
  const server = createServer(
    { ...times, connectionsCheckingInterval: Math.min(1_000, limits.requestMs), requireHostHeader: false },
    (request, response) => reply(request, response, serve(options, limits, request, response)),
  );
  // Node would answer these itself. `serve` asks for a body, or refuses the header.
  for (const event of ["checkContinue", "checkExpectation"]) {
    server.on(event, (request, response) => server.emit("request", request, response));
  }
  if (webSockets !== undefined) {
    server.on("upgrade", (request, socket, head) =>
      asksForWebSocket(request, webSockets.path)
        ? webSockets.upgrade(request, socket, head)
        : server.emit("connection", withoutUpgrade(request, socket, head)),
    );
  }
  const refuse = async (socket: Duplex, code: ProblemCode, detail: string) => {
    if (!socket.writable || answered.has(socket)) return void socket.destroy();
    options.onRequest(`A connection without a whole request is closed: ${code}. ${detail}`);
    socket.end(await rawAnswer(code, detail));
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
  server.on("connect", (_, socket) => {
    socket.on("error", () => {});
    void refuse(socket, "malformed_request", "This server is not a proxy: it does not support CONNECT.");
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) =>
    error.code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? refuse(socket, "request_timeout", `The request did not arrive within ${limits.requestMs / 1000} s.`)
      : refuse(socket, "malformed_request", "The request is not valid HTTP, or its headers are larger than 16 KiB."),
  );
  return open(server, options.port, (request, response, detail) =>
    reply(request, response, gatewayAnswer("forbidden", detail)),
  );
}

/** The answer on a connection that Node's parser, or a time limit, separated from any request. */
async function rawAnswer(code: ProblemCode, detail: string): Promise<string> {
  const { status, headers, body } = await gatewayAnswer(code, detail);
  const lines = Object.entries({ ...headers, connection: "close" }).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", body].join("\r\n");
}

/** Connections whose client was answered before it had sent the whole request. */
const answered = new WeakSet<Duplex>();

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string | Buffer;
  who?: string;
}

/** The limits of one function's invocation. */
const limitsOf = (
  { functionMs, integrationMs }: GatewayLimits,
  name: HttpFunction | "authorizer",
): InvocationLimits => ({
  functionMs: functionMs[name],
  integrationMs,
});

/** Of the local server's own paths: a move of its clock takes as long as what is due takes. */
const unlimited: InvocationLimits = { functionMs: Number.POSITIVE_INFINITY, integrationMs: Number.POSITIVE_INFINITY };

/** Returns undefined when the client disconnected before it had sent the whole request. */
async function serve(
  options: GatewayOptions,
  limits: GatewayLimits,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Answer | undefined> {
  const refusal = refusalOf(request);
  if (refusal !== undefined) return gatewayAnswer(...refusal);
  const event = eventOf(request);
  const local = event.rawPath.startsWith("/_local/") ? options.local : undefined;
  const route = routeOf(event.requestContext.http.method, event.rawPath);
  const name = route?.functionName ?? otherRequests;
  const handler = local ?? options.handlers[name];
  if (handler === undefined) return gatewayAnswer("not_found", "No such route.");
  const who = isOpen(route) || local !== undefined ? "" : await authorize(options, limits, event);
  // The function refuses an unknown caller, whatever the body is.
  const body = who === anonymous ? "added" : await addBody(event, request, response);
  if (body === "left") return undefined;
  if (body === "too large") return gatewayAnswer(...largerThanLimit);
  const call = () => invoke(name, handler, event, local === undefined ? limitsOf(limits, name) : unlimited);
  return { ...answerOf(await (options.submits?.run(event, call) ?? call())), who };
}

const answerOf = ({
  statusCode,
  headers = {},
  body = "",
  isBase64Encoded,
}: APIGatewayProxyStructuredResultV2): Answer => ({
  status: statusCode ?? 200,
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
  body: isBase64Encoded === true ? Buffer.from(body, "base64") : body,
});

/** A caller that the authorizer does not know, or could not check. */
const anonymous = "anonymous";

/** Adds the authorizer's answer to the event. Returns who calls, for the log. */
async function authorize(
  { authorizer }: GatewayOptions,
  limits: GatewayLimits,
  event: APIGatewayProxyEventV2,
): Promise<string> {
  const request = { ...event, type: "REQUEST", version: "2.0" };
  const { context } = await invoke("authorizer", authorizer, request, limitsOf(limits, "authorizer"));
  Object.assign(event.requestContext, { authorizer: { lambda: context } });
  const { tenant_id, principal } = context as Record<string, string | undefined>;
  return tenant_id === undefined ? anonymous : `${tenant_id}/${principal}`;
}

/** API Gateway hands a form over in Base64, whatever it contains. */
const isForm = ({ headers }: APIGatewayProxyEventV2): boolean =>
  /^multipart\/form-data\b/i.test(headers["content-type"] ?? "");

const isText = (body: Buffer): boolean => Buffer.from(body.toString("utf8"), "utf8").equals(body);

/** Reads the body into the event. */
async function addBody(
  event: APIGatewayProxyEventV2,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<"added" | "too large" | "left"> {
  const body = await readBody(request, response);
  if (typeof body === "string") return body;
  const text = !isForm(event) && isText(body);
  Object.assign(event, { body: body.toString(text ? "utf8" : "base64"), isBase64Encoded: !text });
  return isTooLarge(event) ? "too large" : "added";
}

/** Returns why a request is refused before its body is read. */
function refusalOf({ headers, headersDistinct, httpVersion }: IncomingMessage): [ProblemCode, string] | undefined {
  const hosts = headersDistinct.host?.length ?? 0;
  if (hosts > 1 || (hosts === 0 && httpVersion !== "1.0")) {
    return ["malformed_request", "The request must have exactly one Host header."];
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== "100-continue") {
    return ["malformed_request", "The header Expect may only be 100-continue."];
  }
  return Number(headers["content-length"] ?? 0) > gatewayLimitBytes ? largerThanLimit : undefined;
}

const largerThanLimit: [ProblemCode, string] = [
  "too_large",
  "The request is larger than 1 MiB, or a form larger than 4 MiB.",
];
/** An answer that API Gateway would give itself, without a function. Here it is a problem, too. */
async function gatewayAnswer(code: ProblemCode, detail: string, retryAfterSeconds?: number): Promise<Answer> {
  const correlationId = randomUUID();
  const response = problemResponse(
    new Problem(code, detail, retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    correlationId,
  );
  return { ...response, headers: { ...response.headers, "x-correlation-id": correlationId } };
}

/** Logs why a function gave no answer. The client gets the status that API Gateway answers with, and a problem. */
function failureAnswer({ onRequest }: GatewayOptions, error: unknown): Promise<Answer> | Answer {
  if (!(error instanceof InvocationFailed)) {
    onRequest(`A function failed: ${error instanceof Error ? error.stack : String(error)}`);
    return gatewayAnswer("internal", "The function failed. The local server's log has the error.");
  }
  onRequest(`${error.message} API Gateway answers ${error.status}.`);
  return error.status === 503
    ? gatewayAnswer("unavailable", "The request took too long; try again.", 5)
    : gatewayAnswer("internal", "The function gave no answer within its limits. The local server's log has the cause.");
}

/** Reads the body. A client that sent `Expect: 100-continue` is asked for it. */
function readBody(request: IncomingMessage, response: ServerResponse): Promise<Buffer | "too large" | "left"> {
  if (request.headers.expect !== undefined) response.writeContinue();
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= gatewayLimitBytes) chunks.push(chunk);
      else resolve("too large");
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    for (const event of ["error", "close"]) request.on(event, () => resolve("left"));
  });
}

function send(response: ServerResponse, request: IncomingMessage, answer: Answer): void {
  // A text goes with the headers, in one write.
  const { body } = answer;
  if (!request.complete) answered.add(request.socket);
  const withBody = answer.status !== 304 && answer.status !== 204;
  // Ages are right by it where the server's clock is moved: Node's own header has the machine's time.
  if (movedMs() !== 0) response.setHeader("date", new Date(serverNow()).toUTCString());
  response.writeHead(answer.status, {
    ...answer.headers,
    ...(withBody ? { "content-length": Buffer.byteLength(body) } : {}),
  });
  response.end(withBody && request.method !== "HEAD" ? body : undefined);
}
