import { BoundedHttpHandler } from "../http-handler.ts";
import { type ErrorClasses, errorOf } from "./aws-error.ts";
import {
  type Credentials,
  type CredentialsReader,
  credentialsReader,
  type Endpoint,
  endpointOf,
  parseEndpoint,
  required,
} from "./environment.ts";
import { Signer } from "./sign.ts";
import { Tries } from "./tries.ts";

/** Endpoint and wire protocol of an AWS service. */
export interface ServiceSpec {
  /** Name in host names and signatures. */
  readonly name:
    | "dynamodb"
    | "events"
    | "sqs"
    | "scheduler"
    | "monitoring"
    | "logs"
    | "secretsmanager"
    | "ssm"
    | "lambda"
    | "ecs"
    | "xray";
  /** Name in the variables of endpoints. Default: `name`. */
  readonly id?: string;
  /** Content type of requests. */
  readonly contentType: string;
  /** Classes for the errors that callers distinguish by class. */
  readonly errors?: ErrorClasses;
}

/** One request. The body is JSON; the path or a header names the operation. */
export interface ServiceRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Record<string, string>;
  readonly headers?: Record<string, string>;
  readonly body: string;
  /** URL of the host for this request. Default: the service's endpoint. */
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

/** The part of the SDK's configuration that these clients use. */
export interface ClientConfig {
  /** Default: 3. */
  readonly maxAttempts?: number;
  /** Default: a new one. */
  readonly requestHandler?: BoundedHttpHandler;
  /** Default: from the environment. */
  readonly endpoint?: string;
  /** Default: from the environment. */
  readonly region?: string;
  /** Default: from the environment. */
  readonly credentials?: Credentials | CredentialsReader;
}

/**
 * Sends signed requests to one AWS service. Region, credentials and endpoint come from environment variables with the
 * SDK's names. Lambda sets these variables, so the rest of the SDK's credential chain is not needed.
 */
export class Service {
  readonly #spec: ServiceSpec;
  readonly #env: NodeJS.ProcessEnv;
  readonly #endpoint: Endpoint;
  /** Endpoints of requests with a URL of their own, by that URL. */
  readonly #otherEndpoints = new Map<string, Endpoint>();
  readonly #tries: Tries;
  readonly #handler: BoundedHttpHandler;
  readonly #signer: Signer;
  readonly #credentials: CredentialsReader;

  constructor(spec: ServiceSpec, config: ClientConfig, env: NodeJS.ProcessEnv = process.env) {
    this.#spec = spec;
    this.#env = env;
    this.#tries = new Tries(config.maxAttempts);
    this.#handler = config.requestHandler ?? new BoundedHttpHandler();
    const region = config.region ?? required(env, "AWS_REGION");
    this.#endpoint = endpointOf(spec.name, env, region, config.endpoint, spec.id);
    this.#signer = new Signer(spec.name, region);
    this.#credentials = readerOf(config, env);
  }

  /**
   * Sends a request, and tries again after transient errors while the call has time left. Returns the answer's JSON.
   * @throws AwsError when AWS refused the request; Error with Node's code when no answer came
   */
  send(request: ServiceRequest): Promise<Fields> {
    return this.#tries.run(() => this.#sendOnce(request));
  }

  destroy(): void {
    this.#handler.destroy();
  }

  #endpointAt(url: string): Endpoint {
    const endpoint = this.#otherEndpoints.get(url) ?? parseEndpoint(url);
    this.#otherEndpoints.set(url, endpoint);
    return endpoint;
  }

  async #sendOnce({ method, path, query, headers: more, body, at }: ServiceRequest): Promise<Fields> {
    const { protocol, hostname, port, host } = at === undefined ? this.#endpoint : this.#endpointAt(at);
    const headers: Record<string, string> = {
      host,
      "content-type": this.#spec.contentType,
      "content-length": String(Buffer.byteLength(body)),
      ...more,
    };
    const read = this.#credentials();
    const credentials = read instanceof Promise ? await read : read;
    this.#signer.sign({ method, path, query, headers, body }, credentials, this.#tries.now());
    // As in the SDK, the trace is no part of the signature.
    const trace = this.#env._X_AMZN_TRACE_ID;
    if (trace) headers["x-amzn-trace-id"] = trace;
    const { response } = await this.#handler.handle({ protocol, hostname, port, method, path, query, headers, body });
    const text = (response.body as Buffer).toString("utf8");
    if (response.statusCode < 300) return text === "" ? {} : JSON.parse(text);
    throw errorOf(response, text, this.#spec.errors);
  }
}

/** Where a client's credentials come from. */
export function readerOf({ credentials }: ClientConfig, env: NodeJS.ProcessEnv): CredentialsReader {
  if (credentials === undefined) return credentialsReader(env);
  return typeof credentials === "function" ? credentials : () => credentials;
}
