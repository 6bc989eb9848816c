import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { NodeHttpHandler, type NodeHttpHandlerOptions } from "@smithy/node-http-handler";
import { SignatureV4 } from "@smithy/signature-v4";

/** An AWS service, as far as its endpoint and its wire protocol go. */
export interface ServiceSpec {
  /** Its name in host names and signatures. */
  readonly name: "dynamodb" | "sqs" | "scheduler" | "monitoring";
  /** Its name in the variables of endpoints. Default: as in host names. */
  readonly id?: string;
  /** How a request's body is marked. */
  readonly contentType: string;
  /** Classes of the errors that callers tell apart by class. */
  readonly errors?: Readonly<Record<string, typeof AwsError>>;
}

/** One request: a path with its query, what marks the operation, and JSON. */
export interface ServiceRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Record<string, string>;
  readonly headers?: Record<string, string>;
  readonly body: string;
  /** A URL whose host gets the request. Default: the service's own. */
  readonly at?: string;
}

export type Fields = Record<string, unknown>;

/** One call of an operation. */
export abstract class Command {
  readonly input: Fields;

  constructor(input: Fields) {
    this.input = input;
  }
}

/** The part of the SDK's configuration that the stand-ins heed. */
export interface ClientConfig {
  /** Default: 3. */
  readonly maxAttempts?: number;
  /** Default: the transport's own, which waits for ever. */
  readonly requestHandler?: NodeHttpHandlerOptions;
}

/** The part of an answer that says what kind of refusal it is. */
interface Refusal {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** An error that AWS answered: `name` is its code. */
export class AwsError extends Error {
  /** Who is at fault, by the status code. */
  readonly $fault: "client" | "server";
  readonly $metadata: { httpStatusCode: number; requestId: string | undefined };
  /** When AWS answered, by its own clock. Absent: it did not say. */
  readonly answeredAtMs: number | undefined;

  constructor(name: string, message: string, { statusCode, headers }: Refusal) {
    super(message);
    this.name = name;
    this.$fault = statusCode >= 500 ? "server" : "client";
    this.$metadata = { httpStatusCode: statusCode, requestId: headers["x-amzn-requestid"] };
    this.answeredAtMs = Date.parse(headers.date ?? "") || undefined;
  }
}

/** Codes with which a service asks for a pause: the SDK's, and SQS's for its keys. */
const throttles = new Set([
  ...["ThrottlingException", "Throttling", "ThrottledException", "ProvisionedThroughputExceededException"],
  ...["RequestLimitExceeded", "RequestThrottled", "RequestThrottledException", "TooManyRequestsException"],
  ...["LimitExceededException", "PriorRequestNotComplete", "SlowDown", "KmsThrottled"],
]);

/** What a service says when a request came too slowly, Node when a connection broke, and the transport when no answer came. */
const transient = new Set([
  ...["TimeoutError", "RequestTimeout", "RequestTimeoutException"],
  ...["ECONNRESET", "ECONNREFUSED", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN"],
]);

/** Codes of a signature that may be too old or too new, as this machine's clock is wrong. */
const skewed = new Set([
  ...["InvalidSignatureException", "RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture"],
  ...["AuthFailure", "SignatureDoesNotMatch"],
]);

/** AWS takes signatures that are up to this much off. */
const toleratedSkewMs = 300_000;

type Data = string | ArrayBuffer | ArrayBufferView;

/** SHA-256 by Node itself, in the shape that the signer asks for. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: Data) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", bytesOf(secret));
  }

  update(data: Data): void {
    this.#hash.update(bytesOf(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }
}

const bytesOf = (data: Data): string | NodeJS.ArrayBufferView =>
  data instanceof ArrayBuffer ? new Uint8Array(data) : (data as string | NodeJS.ArrayBufferView);

/**
 * Sends signed requests to one AWS service. Takes region, credentials and endpoint from the variables that Lambda sets and
 * the SDK knows; nothing else of the SDK's credential chain exists in Lambda.
 */
export class Service {
  readonly #spec: ServiceSpec;
  readonly #env: NodeJS.ProcessEnv;
  readonly #endpoint: Endpoint;
  readonly #others = new Map<string, Endpoint>();
  readonly #maxAttempts: number;
  readonly #handler: NodeHttpHandler;
  readonly #signer: SignatureV4;
  /** How far AWS's clock is ahead of this machine's, where that is too far for signatures; otherwise 0. */
  #skewMs = 0;

  constructor(spec: ServiceSpec, config: ClientConfig, env: NodeJS.ProcessEnv = process.env) {
    this.#spec = spec;
    this.#env = env;
    this.#maxAttempts = config.maxAttempts ?? 3;
    this.#handler = new NodeHttpHandler(config.requestHandler ?? {});
    const region = required(env, "AWS_REGION");
    this.#endpoint = endpointOf(spec, env, region);
    this.#signer = new SignatureV4({
      service: spec.name,
      region,
      sha256: Sha256,
      credentials: async () => credentialsOf(env),
    });
  }

  /**
   * Sends a request, again after a pause where that can help, and gives the answer's JSON.
   * @throws AwsError for what AWS refused; Error with Node's code when no answer came
   */
  async send(request: ServiceRequest): Promise<Fields> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#sendOnce(request);
      } catch (error) {
        const pauseMs = this.#correctClock(error) ? 0 : pauseAfter(error, attempt);
        if (pauseMs === undefined || attempt >= this.#maxAttempts) throw error;
        await sleep(pauseMs);
      }
    }
  }

  destroy(): void {
    this.#handler.destroy();
  }

  /** Takes AWS's clock for signatures where an answer shows that this machine's is wrong; gives whether it did. */
  #correctClock(error: unknown): boolean {
    if (!(error instanceof AwsError) || error.answeredAtMs === undefined || !skewed.has(error.name)) return false;
    const skewMs = error.answeredAtMs - Date.now();
    if (Math.abs(skewMs - this.#skewMs) < toleratedSkewMs) return false;
    this.#skewMs = skewMs;
    return true;
  }

  #endpointAt(url: string): Endpoint {
    const known = this.#others.get(url) ?? parseEndpoint(url);
    this.#others.set(url, known);
    return known;
  }

  async #sendOnce({ method, path, query, headers, body, at }: ServiceRequest): Promise<Fields> {
    const { protocol, hostname, port, host } = at === undefined ? this.#endpoint : this.#endpointAt(at);
    const trace = this.#env._X_AMZN_TRACE_ID;
    const unsigned = {
      ...{ method, protocol, hostname, path, query: query ?? {}, body },
      ...(port !== undefined && { port }),
      headers: {
        host,
        "content-type": this.#spec.contentType,
        "content-length": String(Buffer.byteLength(body)),
        ...headers,
        ...(trace && { "x-amzn-trace-id": trace }),
      },
    };
    const signed = await this.#signer.sign(unsigned, { signingDate: new Date(Date.now() + this.#skewMs) });
    const { response } = await this.#handler.handle(signed as Parameters<NodeHttpHandler["handle"]>[0]);
    const text = await textOf(response.body as AsyncIterable<Buffer>);
    if (response.statusCode < 300) return text === "" ? {} : JSON.parse(text);
    throw errorOf(response, fieldsOf(text), this.#spec.errors);
  }
}

/** Where requests go. */
interface Endpoint {
  protocol: string;
  hostname: string;
  port?: number;
  host: string;
}

function required(env: NodeJS.ProcessEnv, variable: string): string {
  const value = env[variable];
  if (value === undefined || value === "") {
    throw new Error(
      `${variable} is not set: Lambda and \`npm start\` set it; a function started by hand needs it too.`,
    );
  }
  return value;
}

/** The keys that Lambda sets. Its other way, an address to fetch them from, is for runtimes that start from a snapshot. */
function credentialsOf(env: NodeJS.ProcessEnv) {
  if (!env.AWS_ACCESS_KEY_ID && env.AWS_CONTAINER_CREDENTIALS_FULL_URI) {
    throw new Error(
      "AWS_ACCESS_KEY_ID is not set: credentials from AWS_CONTAINER_CREDENTIALS_FULL_URI (SnapStart, containers) are not " +
        "taken by the clients in src/aws/lean. Bundle without the condition offload-lean (lib/esbuild.ts) to use the SDK's.",
    );
  }
  return {
    accessKeyId: required(env, "AWS_ACCESS_KEY_ID"),
    secretAccessKey: required(env, "AWS_SECRET_ACCESS_KEY"),
    ...(env.AWS_SESSION_TOKEN && { sessionToken: env.AWS_SESSION_TOKEN }),
  };
}

/** `AWS_ENDPOINT_URL_<SERVICE>` or `AWS_ENDPOINT_URL` where one is set, else the Region's own. */
function endpointOf({ name, id = name }: ServiceSpec, env: NodeJS.ProcessEnv, region: string): Endpoint {
  const configured = env[`AWS_ENDPOINT_URL_${id.toUpperCase()}`] || env.AWS_ENDPOINT_URL;
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  const fips = env.AWS_USE_FIPS_ENDPOINT === "true" ? "-fips" : "";
  return parseEndpoint(configured || `https://${name}${fips}.${region}.${domain}`);
}

function parseEndpoint(url: string): Endpoint {
  const { protocol, hostname, port, host } = new URL(url);
  return { protocol, hostname, host, ...(port !== "" && { port: Number(port) }) };
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** The code stands in the answer, as `com.amazonaws.sqs#QueueDoesNotExist`, or in a header, as `ConflictException:http://...`. */
function errorOf(refusal: Refusal, answer: Fields, classes: ServiceSpec["errors"]): AwsError {
  const given = String(refusal.headers["x-amzn-errortype"] ?? answer.__type ?? answer.code ?? "UnknownError");
  const name = given.split(":")[0]?.split("#").at(-1) ?? given;
  const message = String(answer.message ?? answer.Message ?? name);
  const Class = classes?.[name] ?? AwsError;
  return new Class(name, message, refusal);
}

/** An error's text; one that is no JSON, as from a proxy, says nothing. */
function fieldsOf(text: string): Fields {
  try {
    return JSON.parse(text) as Fields;
  } catch {
    return {};
  }
}

/** How long to wait before another try, drawn from a span that doubles; undefined when none makes sense. */
function pauseAfter(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const throttled = throttles.has(error.name);
  const code = (error as NodeJS.ErrnoException).code ?? "";
  const passing = throttled || transient.has(error.name) || transient.has(code) || isServerError(error);
  return passing ? Math.random() * (throttled ? 500 : 100) * 2 ** (attempt - 1) : undefined;
}

const isServerError = (error: Error): boolean => error instanceof AwsError && error.$fault === "server";
