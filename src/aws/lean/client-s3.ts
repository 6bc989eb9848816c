import type { Readable } from "node:stream";
import { createHash, hash } from "../../util/node-crypto.ts";
import { BoundedHttpHandler, named, percentEncode, searchOf } from "../http-handler.ts";
import { AwsError } from "./aws-error.ts";
import { type CredentialsReader, type Endpoint, endpointOf, required } from "./environment.ts";
import { type ClientConfig, Command, type Fields, readerOf } from "./service.ts";
import { Signer } from "./sign.ts";
import { Tries } from "./tries.ts";

type Headers = Record<string, string>;

/** A request that is not signed yet. The key is not encoded. */
interface ObjectRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly query: Record<string, string>;
  readonly body: Uint8Array | undefined;
}

/** An answer without an error. */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** Headers and query parameters of the requests, by the names of the SDK's fields. */
const headerNames = {
  ContentType: "content-type",
  ContentLength: "content-length",
  IfNoneMatch: "if-none-match",
  ChecksumSHA256: "x-amz-checksum-sha256",
  ChecksumMode: "x-amz-checksum-mode",
  Range: "range",
};
const queryNames = {
  UploadId: "uploadId",
  PartNumber: "partNumber",
  ResponseContentType: "response-content-type",
  ResponseContentDisposition: "response-content-disposition",
};

/** The given fields under their names on the wire. */
const wireFields = (input: Fields, names: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(names).flatMap(([field, name]) =>
      input[field] === undefined ? [] : [[name, String(input[field])]],
    ),
  );

/** An operation on an object. */
export abstract class ObjectCommand extends Command {
  abstract readonly method: string;

  request(): ObjectRequest {
    const { input, method } = this;
    return {
      method,
      headers: wireFields(input, headerNames),
      query: wireFields(input, queryNames),
      body: input.Body as Uint8Array | undefined,
    };
  }

  /** Fields of the answer. */
  answer(_answer: Answer): Fields {
    return {};
  }
}

export class PutObjectCommand extends ObjectCommand {
  readonly method = "PUT";
}

export class DeleteObjectCommand extends ObjectCommand {
  readonly method = "DELETE";
}

export class HeadObjectCommand extends ObjectCommand {
  readonly method = "HEAD";

  override answer({ headers }: Answer): Fields {
    return fieldsOf(headers);
  }
}

export class GetObjectCommand extends ObjectCommand {
  readonly method = "GET";

  override request(): ObjectRequest {
    const { headers, ...request } = super.request();
    return { ...request, headers: { ...headers, "x-amz-checksum-mode": "ENABLED" } };
  }

  override answer({ status, headers, body }: Answer): Fields {
    const { "x-amz-checksum-sha256": checksum } = headers;
    const whole = status === 200 && checksum !== undefined && !checksum.includes("-");
    return { ...fieldsOf(headers), Body: whole ? checked(body as Readable, checksum) : body };
  }
}

export class CreateMultipartUploadCommand extends ObjectCommand {
  readonly method = "POST";

  override request(): ObjectRequest {
    return { ...super.request(), query: { uploads: "" } };
  }

  override answer({ body }: Answer): Fields {
    return { UploadId: elementOf(String(body), "UploadId") };
  }
}

export class UploadPartCommand extends ObjectCommand {
  readonly method = "PUT";

  override answer({ headers }: Answer): Fields {
    return { ETag: headers.etag };
  }
}

export class CompleteMultipartUploadCommand extends ObjectCommand {
  readonly method = "POST";

  override request(): ObjectRequest {
    const { Parts } = this.input.MultipartUpload as { Parts: { PartNumber: number; ETag: string }[] };
    const parts = Parts.map(
      ({ PartNumber, ETag }) => `<Part><PartNumber>${PartNumber}</PartNumber><ETag>${escapeXml(ETag)}</ETag></Part>`,
    );
    const xml = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join("")}</CompleteMultipartUpload>`;
    const { headers, ...request } = super.request();
    return { ...request, headers: { ...headers, "content-type": "application/xml" }, body: Buffer.from(xml) };
  }

  /** S3 begins its answer before it has put the parts together, so an answer with status 200 can have an error. */
  override answer({ body, ...refusal }: Answer): Fields {
    if (!String(body).includes("<Error>")) return {};
    throw errorOf({ ...refusal, status: 500 }, String(body));
  }
}

export class AbortMultipartUploadCommand extends ObjectCommand {
  readonly method = "DELETE";
}

interface S3Config extends ClientConfig {
  readonly forcePathStyle?: boolean;
}

/** A small replacement for the SDK's S3 client, with the operations on objects that Offload uses. */
export class S3Client {
  readonly #config: S3Config;
  readonly #handler: BoundedHttpHandler;
  readonly #endpoint: Endpoint;
  readonly #tries: Tries;
  readonly #signer: Signer;
  readonly #credentials: CredentialsReader;

  constructor(config: S3Config = {}, env: NodeJS.ProcessEnv = process.env) {
    this.#config = config;
    this.#handler = config.requestHandler ?? new BoundedHttpHandler();
    const region = config.region ?? required(env, "AWS_REGION");
    this.#endpoint = endpointOf("s3", env, region, config.endpoint);
    this.#tries = new Tries(config.maxAttempts);
    this.#signer = new Signer("s3", region);
    this.#credentials = readerOf(config, env);
  }

  /** @throws AwsError when S3 refused the request; Error with Node's code when no answer came */
  send(command: ObjectCommand): Promise<Fields> {
    return this.#tries.run(() => this.#sendOnce(command));
  }

  /** Signs a command's request, and returns its URL. Headers in `kept` stay headers, which the client has to send. */
  async presign(command: ObjectCommand, expiresIn: number, kept: Set<string>): Promise<string> {
    const { method, headers: given, query: asked } = command.request();
    const { "x-amz-checksum-mode": _, ...sent } = given;
    const host = this.#hostOf(command);
    const headers: Headers = { host };
    const query: Record<string, string> = { ...asked, "X-Amz-Content-Sha256": "UNSIGNED-PAYLOAD" };
    for (const [name, value] of Object.entries(sent)) {
      if (name.startsWith("x-amz-") && !kept.has(name)) query[name] = value;
      else headers[name] = value;
    }
    const { protocol, path } = this.#target(command);
    const request = { method, path, query, headers };
    const parameters = this.#signer.presign(request, await this.#credentials(), this.#tries.now(), expiresIn);
    return `${protocol}//${host}${path}${searchOf(parameters)}`;
  }

  destroy(): void {
    this.#handler.destroy();
  }

  async #sendOnce(command: ObjectCommand): Promise<Fields> {
    const { body, headers: given, method, query } = command.request();
    const length = body === undefined && method !== "POST" ? undefined : String(body?.byteLength ?? 0);
    const headers: Headers = {
      ...given,
      host: this.#hostOf(command),
      ...(length !== undefined && { "content-length": length }),
      // S3 compares the body with this hash.
      "x-amz-content-sha256": hash("sha256", body ?? ""),
    };
    const target = this.#target(command);
    this.#signer.sign({ method, path: target.path, query, headers }, await this.#credentials(), this.#tries.now());
    const { response } = await this.#handler.handle({ ...target, method, query, headers, body });
    const { statusCode: status } = response;
    const answered = { status, headers: response.headers };
    if (status < 300 && method === "GET") return command.answer({ ...answered, body: response.body });
    // The handler has read the body of all answers but objects.
    const text = String(response.body);
    if (status >= 300) throw errorOf(answered, text);
    return command.answer({ ...answered, body: text });
  }

  #hostOf({ input }: ObjectCommand): string {
    return this.#config.forcePathStyle ? this.#endpoint.host : `${input.Bucket}.${this.#endpoint.host}`;
  }

  #target({ input }: ObjectCommand) {
    const { protocol, hostname, port } = this.#endpoint;
    const path = String(input.Key).split("/").map(percentEncode).join("/");
    const isPathStyle = this.#config.forcePathStyle === true;
    return {
      protocol,
      hostname: isPathStyle ? hostname : `${input.Bucket}.${hostname}`,
      ...(port !== undefined && { port }),
      path: isPathStyle ? `/${input.Bucket}/${path}` : `/${path}`,
    };
  }
}

const fieldsOf = (headers: Headers): Fields => ({
  ContentLength: Number(headers["content-length"] ?? 0),
  ContentType: headers["content-type"],
  ContentRange: headers["content-range"],
  ChecksumSHA256: headers["x-amz-checksum-sha256"],
});

const escapeXml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** The text of an element without children. S3's ids and codes have no characters that XML escapes. */
const elementOf = (xml: string, name: string): string | undefined =>
  new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];

/** Names of errors whose answer has no body, as that of HEAD. */
const nameless: Readonly<Record<number, string>> = { 404: "NotFound", 412: "PreconditionFailed" };

function errorOf({ status, headers }: Pick<Answer, "status" | "headers">, text: string): AwsError {
  const name = elementOf(text, "Code") ?? nameless[status] ?? "UnknownError";
  return new AwsError(name, elementOf(text, "Message") ?? name, { statusCode: status, headers });
}

/** The bytes of an object. The reading fails at their end when they do not match their checksum. */
function checked(body: Readable, checksum: string): AsyncIterable<Uint8Array> {
  const hash = createHash("sha256");
  const source: AsyncIterator<Buffer> = body[Symbol.asyncIterator]();
  const iterator: AsyncIterator<Uint8Array> = {
    next: async () => {
      const next = await source.next();
      if (!next.done) hash.update(next.value);
      else if (hash.digest("base64") !== checksum)
        throw named("ChecksumMismatch", "the bytes do not match their checksum");
      return next;
    },
    return: async () => {
      body.destroy();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
