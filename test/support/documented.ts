import * as z from "zod";
import { routeOf } from "../../src/api/http/routes.ts";
import type { OpenApiDocument } from "../../src/api/openapi/document.ts";

/** A request and its answer, as the document sees them. */
export interface Exchange {
  method: string;
  path: string;
  status: number;
  headers: Headers;
  text: string;
}

interface ResponseObject {
  headers?: Record<string, { required?: boolean }>;
  content?: Record<string, { schema?: object }>;
  /** The codes that a problem of this response can have. */
  "x-codes"?: readonly string[];
}

type Schema = Record<string, unknown>;

/** Compares answers with an OpenAPI document. The test refuses fields that the document does not name, which clients ignore. */
export class Documented {
  readonly #document: OpenApiDocument;
  readonly #compiled = new Map<unknown, z.ZodType>();
  readonly #definitions: Schema;

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#definitions = closed(document.components.schemas) as Schema;
  }

  /** Returns why an answer is not as documented; undefined when it is. */
  faultOf(exchange: Exchange): string | undefined {
    const { status, headers, text } = exchange;
    const method = exchange.method === "HEAD" ? "GET" : exchange.method;
    const route = routeOf(method, new URL(exchange.path, "http://localhost").pathname);
    // A request without a route has no operation in the document, but its answer is a problem, too.
    const response =
      route === undefined || status === 405 || text.includes("No such route.")
        ? { content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } } }
        : this.#responseOf(route.path, method.toLowerCase(), status);
    if (response === undefined) return `the status ${status} is not documented: ${text.slice(0, 200)}`;
    const missing = Object.entries(response.headers ?? {}).find(
      ([name, { required }]) => required && !headers.has(name),
    );
    if (missing !== undefined) return `the header ${missing[0]} is missing`;
    return this.#bodyFaultOf(response, exchange);
  }

  #responseOf(path: string, method: string, status: number): ResponseObject | undefined {
    const responses = this.#document.paths[path]?.[method]?.responses as Record<string, Schema> | undefined;
    const response = responses?.[status];
    const name = typeof response?.$ref === "string" ? response.$ref.split("/").at(-1) : undefined;
    return name === undefined ? response : (this.#document.components.responses as Record<string, Schema>)[name];
  }

  #bodyFaultOf(response: ResponseObject, { method, headers, text }: Exchange): string | undefined {
    const { content = {}, "x-codes": codes } = response;
    if (method === "HEAD") return undefined;
    const type = headers.get("content-type")?.split(";")[0];
    if (Object.keys(content).length === 0) return text === "" ? undefined : "a body is not documented";
    const media = content[type ?? ""] ?? content["*/*"];
    if (media === undefined) return `the content type ${type} is not documented`;
    if (media.schema === undefined) return undefined;
    const body = JSON.parse(text);
    const parsed = this.#compile(media.schema).safeParse(body);
    if (!parsed.success) return `${z.prettifyError(parsed.error)}\n${text.slice(0, 500)}`;
    return codes === undefined || codes.includes(body.code) ? undefined : `the code ${body.code} is not documented`;
  }

  #compile(schema: object): z.ZodType {
    const known = this.#compiled.get(schema);
    if (known !== undefined) return known;
    const whole = { ...(withLocalRefs(schema) as Schema), $defs: withLocalRefs(this.#definitions) };
    const compiled = z.fromJSONSchema(whole as z.core.JSONSchema.JSONSchema);
    this.#compiled.set(schema, compiled);
    return compiled;
  }
}

/** Replaces each object of a JSON value, innermost first. */
function mapped(value: unknown, change: (object: Schema) => Schema): unknown {
  if (Array.isArray(value)) return value.map((one) => mapped(one, change));
  if (typeof value !== "object" || value === null) return value;
  return change(Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapped(one, change)])));
}

/** Adds to schemas of objects that no further fields are allowed, unless they say something about them. */
const closed = (schema: unknown): unknown =>
  mapped(schema, (object) =>
    object.type === "object" && object.properties !== undefined ? { additionalProperties: false, ...object } : object,
  );

/** References as they are in a schema with definitions of its own. */
const withLocalRefs = (schema: unknown): unknown =>
  mapped(schema, (object) =>
    typeof object.$ref === "string"
      ? { ...object, $ref: object.$ref.replace("#/components/schemas/", "#/$defs/") }
      : object,
  );
