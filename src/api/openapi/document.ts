import type * as z from "zod";
import type { ProblemCode } from "../../core/model/problem.ts";
import type { Role } from "../../core/model/words.ts";
import type { Catalog } from "../../core/task/catalog.ts";
import { type ApiRoute, apiRoutes, isChange, isOpen } from "../http/routes.ts";
import { descriptions } from "./descriptions.ts";
import { parameterTexts, withFieldTexts } from "./fields.ts";
import { type Json, namedSchemas, parameterSchema, refOf, refToNamed } from "./json-schema.ts";
import { headersOf, ProblemResponses, parameterParts, parameterRef, pathParameter } from "./parts.ts";
import type { Answer, Description } from "./route-text.ts";
import { type TaskTypeParts, taskTypeParts } from "./task-types.ts";

const description = `Submits tasks, and reads and controls them.

Every refused request is a problem document (RFC 9457); \`code\` says why. Only API Gateway's own answers differ: above its
rate limit (429), above 10 MB (413) and without an answer of a function (500, 503) the body is \`{ "message": "..." }\`.

Times are ISO 8601 in UTC with milliseconds. Durations are whole seconds. Ignore fields that you do not know.`;

const roleTexts = {
  submitter: "Role: `submitter` or more.",
  viewer: "Role: `viewer` or more.",
  operator: "Role: `operator` or `admin`.",
  admin: "Role: `admin`.",
} as const;

/** A route that changes something refuses viewers. */
const roleText = (route: ApiRoute, role: Role): string =>
  role === "submitter" && isChange(route) ? "Role: `submitter`, `operator` or `admin`." : roleTexts[role];

/** An OpenAPI document. */
export interface OpenApiDocument {
  openapi: string;
  info: Json;
  paths: Record<string, Record<string, Json>>;
  components: { schemas: Record<string, Json> } & Json;
  [member: string]: unknown;
}

/**
 * Describes the API of a deployment in OpenAPI 3.1: the routes of `src/api/http/routes.ts` that programs call, and the
 * schemas of its task types.
 * @param version Version of Offload.
 */
export function openApiDocument(catalog: Catalog, version: string): OpenApiDocument {
  const schemas = withFieldTexts(namedSchemas());
  const { Submit: submit = {}, ...others } = schemas;
  const types = taskTypeParts(catalog, submit);
  const problems = new ProblemResponses();
  const paths: OpenApiDocument["paths"] = {};
  for (const route of apiRoutes) {
    paths[route.path] ??= {};
    Object.assign(paths[route.path] ?? {}, { [route.method.toLowerCase()]: operationObject(route, types, problems) });
  }
  return {
    openapi: "3.1.1",
    info: { title: "Offload", version, description },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    tags: ["tasks", "schedules", "dead letters", "operations", "webhooks", "flow", "tenants", "service"].map(
      (name) => ({ name }),
    ),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An API key, or a token of the deployment's issuer." },
      },
      parameters: parameterParts(),
      responses: problems.parts,
      schemas: { ...others, ...(catalog.length === 0 ? { Submit: submit } : {}), ...types.schemas },
    },
  };
}

/** Problems of all routes that need a token; `invalid_input` is that of a wrong `tenant`, at least. */
const tokenProblems: readonly ProblemCode[] = ["unauthenticated", "forbidden", "invalid_input", "unavailable"];

function operationObject(route: ApiRoute, types: TaskTypeParts, problems: ProblemResponses): Json {
  const { name, path } = route;
  const open = isOpen(route);
  const described = descriptions[name];
  const { tag, summary, role = "submitter", body, form, example, answers: good, problems: own } = described;
  const texts = [described.description, open ? undefined : roleText(route, role)].filter((text) => text !== undefined);
  const notFound = !open && path.includes("{") ? (["not_found"] as const) : [];
  const codes: ProblemCode[] = [...notFound, ...own, ...(open ? [] : tokenProblems), "internal"];
  const responses = Object.entries(good).map(([status, answer]) => [status, responseObject(answer, types)]);
  return {
    operationId: name,
    tags: [tag],
    summary,
    ...(texts.length === 0 ? {} : { description: texts.join(" ") }),
    ...(open ? { security: [] } : {}),
    parameters: parametersOf(path, open, described),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: described.bodyOptional !== true,
            content: {
              "application/json": {
                schema: body === "submit" ? types.submit : refOf(body),
                ...(example === undefined ? {} : { example }),
              },
              ...(form === undefined ? {} : { "multipart/form-data": { schema: form } }),
            },
          },
        }),
    responses: { ...Object.fromEntries(responses), ...problems.of(codes) },
  };
}

function responseObject(
  { description, body, headers = [], optionalHeaders, links }: Answer,
  types: TaskTypeParts,
): Json {
  return {
    description,
    headers: headersOf(["X-Correlation-Id", ...headers], optionalHeaders),
    ...(body === undefined ? {} : { content: contentOf(body, types) }),
    ...(links === undefined ? {} : { links: linksOf(links) }),
  };
}

const linksOf = ({ id, to }: NonNullable<Answer["links"]>): Json =>
  Object.fromEntries(to.map((name) => [name, { operationId: name, parameters: { [id]: `$response.body#/${id}` } }]));

/** A file has any content type, so its schema says nothing. */
const contentOf = (body: NonNullable<Answer["body"]>, types: TaskTypeParts): Json =>
  body === "result"
    ? { "application/json": { schema: types.result }, "*/*": {} }
    : body === "page"
      ? { "text/html": {} }
      : { "application/json": { schema: refToNamed(body) } };

const isRequired = (schema: z.ZodType): boolean => !schema.safeParse(undefined).success;

function parametersOf(path: string, open: boolean, { query, parameters = [] }: Description): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => pathParameter(name));
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    ...(isRequired(schema as z.ZodType) && { required: true }),
    ...(parameterTexts[name] === undefined ? {} : { description: parameterTexts[name] }),
    schema: parameterSchema(schema),
  }));
  const common = ["X-Correlation-Id", "traceparent", ...(open ? [] : (["tenant"] as const))] as const;
  return [...inPath, ...inQuery, ...[...parameters, ...common].map(parameterRef)];
}
