import { type AnyRouteName, type ApiRoute, apiRoutes, isOpen } from "../../src/api/http/routes.ts";
import { descriptions } from "../../src/api/openapi/descriptions.ts";
import { openApiDocument } from "../../src/api/openapi/document.ts";
import { parameterTexts } from "../../src/api/openapi/fields.ts";
import { clientCalls, pythonCalls, submitExample } from "./http-page-texts.ts";
import { problemPages, table } from "./problem-pages.ts";

/* Writes the pages of the HTTP API from the OpenAPI document. `npm run docs:http` calls it, and a unit test compares the pages with it. */

/** A JSON Schema, or a reference to one of the document. */
interface Schema {
  $ref?: string;
  type?: string | string[];
  anyOf?: Schema[];
  /** Whole forms of a request, of which each has one field that the others lack. */
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  multipleOf?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  propertyNames?: Schema;
  required?: string[];
  default?: unknown;
  description?: string;
}

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  description?: string;
  schema: Schema;
}

interface Response {
  $ref?: string;
  description: string;
  headers?: Record<string, unknown>;
  content?: Record<string, { schema?: Schema }>;
  "x-codes"?: readonly string[];
}

interface OperationObject {
  parameters: Parameter[];
  requestBody?: { required?: boolean; content: { "application/json": { schema: Schema; example?: unknown } } };
  responses: Record<string, Response>;
}

/** The document without task types: a submit has any type and any input. */
const document = openApiDocument([], "");
const { schemas, parameters, responses } = document.components as unknown as {
  schemas: Record<string, Schema>;
  parameters: Record<string, Parameter>;
  responses: Record<string, Response>;
};

const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf("/") + 1);
const code = (text: unknown): string => `\`${text}\``;
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .replace(/\s/g, "-");
const linkOn = (page: string, heading: string): string => `[${heading}](${page}.md#${anchor(heading)})`;
const objectsPage = "api-objects";
const pageOf = (tag: string): string => `api-${tag.replace(" ", "-")}`;
/** Text of a range, such as `1 to 20`. Empty: there is none. */
function rangeOf(least: number | undefined, most: number | undefined): string {
  const bound = most === undefined || most >= Number.MAX_SAFE_INTEGER ? undefined : most;
  if (least !== undefined && bound !== undefined) return `${least} to ${bound}`;
  if (least !== undefined) return `${least} or more`;
  return bound === undefined ? "" : `at most ${bound}`;
}

const withRange = (text: string, range: string): string => (range === "" ? text : `${text}, ${range}`);

const formats: Record<string, string> = { uuid: "UUID", "date-time": "time", date: "date" };

function textType({ format, pattern, maxLength }: Schema): string {
  if (format !== undefined) return formats[format] ?? format;
  if (pattern !== undefined) return `text that matches ${code(pattern)}`;
  return maxLength === undefined ? "text" : `text of at most ${maxLength} characters`;
}

function objectType({ additionalProperties, properties }: Schema): string {
  if (properties !== undefined || typeof additionalProperties !== "object") return "object";
  return `object, each value: ${typeOf(additionalProperties)}`;
}

/** Type of a schema in words. */
function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return linkOn(objectsPage, nameOf(schema.$ref));
  if (schema.enum !== undefined) return schema.enum.map(code).join(", ");
  if (schema.const !== undefined) return code(schema.const);
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(" or ");
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type })).join(" or ");
  const { type, minimum, maximum, multipleOf, items, minItems, maxItems } = schema;
  if (type === undefined) return "any JSON";
  if (type === "string") return textType(schema);
  if (type === "object") return objectType(schema);
  if (type === "array") return withRange(`list of ${typeOf(items ?? {})}`, rangeOf(minItems, maxItems));
  const range = rangeOf(minimum, maximum);
  return withRange(type, multipleOf === undefined ? range : `${range}, a multiple of ${multipleOf}`);
}

const defaultOf = ({ default: value }: Schema): string =>
  value === undefined ? "" : ` Default: ${code(JSON.stringify(value))}.`;

const formsOf = ({ oneOf = [] }: Schema): Schema[] => oneOf.flatMap(({ $ref = "" }) => schemas[nameOf($ref)] ?? []);

/** The fields of a request, with those of all its forms, and the fields of which it has exactly one. */
function wholeOf(schema: Schema): Schema & { choice: string[] } {
  const forms = formsOf(schema);
  const choice = forms.flatMap(({ required = [] }) => required).filter((name, _, all) => isOnce(name, all));
  const [first = schema] = forms;
  const names = Object.keys(first.properties ?? {}).flatMap((name) =>
    name === choice[0] ? choice : choice.includes(name) ? [] : [name],
  );
  const formWith = (name: string) => forms.find(({ required = [] }) => required.includes(name)) ?? first;
  const properties = Object.fromEntries(names.map((name) => [name, formWith(name).properties?.[name] ?? {}]));
  return { ...first, properties, choice };
}

/**
 * The fields of an answer that has one of several forms, which a word tells apart: each field once, with the words of
 * the forms that have it.
 */
function joinedForms({ oneOf = [] }: Schema): Record<string, Schema> {
  const [first = {}] = oneOf;
  const word = Object.entries(first.properties ?? {}).find(([, field]) => field.const !== undefined)?.[0] ?? "";
  const wordOf = ({ properties = {} }: Schema) => properties[word]?.const;
  const fields = Object.assign({}, ...oneOf.map(({ properties }) => properties)) as Record<string, Schema>;
  const formsWith = (name: string) => oneOf.filter(({ properties = {} }) => name in properties);
  const joined = Object.entries(fields).map(([name, field]): [string, Schema] => {
    if (name === word) return [name, { enum: oneOf.map(wordOf), description: "The form of the object: see above." }];
    const words = formsWith(name).map((form) => code(wordOf(form)));
    const only = `Only where \`${word}\` is ${words.join(", ")}.`;
    return [name, { ...field, description: `${field.description ?? ""} ${only}`.trim() }];
  });
  return Object.fromEntries(joined);
}

const isOnce = (name: string, all: readonly string[]): boolean => all.indexOf(name) === all.lastIndexOf(name);

function markOf(name: string, required: readonly string[], choice: readonly string[]): string {
  if (choice.includes(name))
    return ` (or ${choice
      .filter((other) => other !== name)
      .map(code)
      .join(", ")})`;
  return required.includes(name) ? " (required)" : "";
}

/** Rows of an object's fields; those of objects inside it are named `outer.inner`. */
function rowsOf(schema: Schema, isRequest: boolean, prefix = ""): string[][] {
  const shown = schema.oneOf === undefined ? schema : { properties: joinedForms(schema) };
  const { properties = {}, required = [], choice } = isRequest ? wholeOf(schema) : { ...shown, choice: [] };
  return Object.entries(properties).flatMap(([name, field]) => {
    const mark = isRequest ? markOf(name, required, choice) : "";
    const row = [
      `${code(`${prefix}${name}`)}${mark}`,
      typeOf(field),
      `${field.description ?? parameterTexts[name] ?? ""}${defaultOf(field)}`.trim(),
    ];
    const inside = field.properties === undefined ? (field.items ?? {}) : field;
    return [row, ...rowsOf(inside, isRequest, `${prefix}${name}${field.properties === undefined ? "[]." : "."}`)];
  });
}

const fieldTable = (schema: Schema, isRequest: boolean): string =>
  table(["field", "type", "meaning"], rowsOf(schema, isRequest));

const requestNames = new Set(
  Object.values(document.paths)
    .flatMap((path) => Object.values(path) as unknown as OperationObject[])
    .flatMap(({ requestBody }) => requestBody?.content["application/json"].schema.$ref ?? [])
    .map(nameOf),
);

const resolveParameter = (given: Parameter): Parameter =>
  given.$ref === undefined ? given : (parameters[nameOf(given.$ref)] ?? given);

const common = ["X-Correlation-Id", "traceparent", "tenant"];

function parameterTable(given: readonly Parameter[]): string[] {
  const own = given.map(resolveParameter).filter(({ name }) => !common.includes(name));
  if (own.length === 0) return [];
  const rows = own.map(({ name, in: place, description = "", schema }) => [
    code(name === "tags" ? "tag.NAME" : name),
    place,
    name === "tags" ? "text" : typeOf(schema),
    `${description || (place === "path" ? "Id in the path." : "")}${defaultOf(schema)}`,
  ]);
  return ["Parameters:", table(["name", "in", "type", "meaning"], rows)];
}

function bodySection({ requestBody }: OperationObject): string[] {
  if (requestBody === undefined) return [];
  const { $ref = "" } = requestBody.content["application/json"].schema;
  const schema = schemas[nameOf($ref)] ?? {};
  if (Object.keys(wholeOf(schema).properties ?? {}).length === 0) return ["Body: none, or an empty object."];
  return [`Body, ${requestBody.required === true ? "JSON" : "optional JSON"}:`, fieldTable(schema, true)];
}

function answerBody({ content = {} }: Response): string {
  if ("*/*" in content) return "any JSON, or a file";
  const schema = Object.values(content)[0]?.schema;
  return schema === undefined ? "none" : typeOf(schema);
}

const headersIn = ({ headers = {} }: Response): string =>
  Object.keys(headers)
    .filter((name) => name !== "X-Correlation-Id")
    .map(code)
    .join(", ");

function answerTable({ responses: given }: OperationObject): string {
  const rows = Object.entries(given)
    .filter(([status]) => Number(status) < 400)
    .map(([status, answer]) => [status, answerBody(answer), headersIn(answer), answer.description]);
  return table(["status", "body", "headers", "meaning"], rows);
}

/** The codes of a route's problems, in the order of their statuses. */
const problemsOf = ({ responses: given }: OperationObject): string[] =>
  Object.entries(given)
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([status, { $ref = "" }]) => codesIn(responses[nameOf($ref)], status));

const problemLinks = (operation: OperationObject): string =>
  `Problems: ${problemsOf(operation)
    .map((name) => `[${code(name)}](problems/${name}.md)`)
    .join(", ")}.`;

function codesIn(response: Response | undefined, status: string): readonly string[] {
  const codes = response?.["x-codes"];
  if (codes === undefined) throw new Error(`expected the codes of the response ${status}`);
  return codes;
}

/** A curl command for a route. */
function curl(route: ApiRoute, { requestBody }: OperationObject): string {
  const { name, method, path } = route;
  const url = `$OFFLOAD_URL${path.replace(/\{(\w+)\}/g, (_, id: string) => `$${id.toUpperCase()}`)}`;
  const example = name === "submitTask" ? submitExample : requestBody?.content["application/json"].example;
  const lines = [
    `curl ${method === "GET" ? "" : `-X ${method} `}"${url}"`,
    ...(isOpen(route) ? [] : [`-H "Authorization: Bearer $OFFLOAD_KEY"`]),
    ...(example === undefined ? [] : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(example)}'`]),
  ];
  return `\`\`\`bash\n${lines.join(" \\\n  ")}\n\`\`\``;
}

const clientCall = (name: AnyRouteName): string[] => {
  const call = clientCalls[name];
  return call === undefined ? [] : [`\`\`\`ts\n${call}\n\`\`\``];
};

const pythonCall = (name: AnyRouteName): string[] => {
  const call = pythonCalls[name];
  return call === undefined ? [] : [`\`\`\`python\n${call}\n\`\`\``];
};

const operationOf = ({ path, method }: ApiRoute): OperationObject =>
  document.paths[path]?.[method.toLowerCase()] as unknown as OperationObject;

const roleOf = (route: ApiRoute): string =>
  isOpen(route) ? "no token" : (descriptions[route.name].role ?? "submitter");

function routeSection(route: ApiRoute): string {
  const { summary, description } = descriptions[route.name];
  const operation = operationOf(route);
  const role = isOpen(route) ? "Needs no token." : `Role: ${code(roleOf(route))}.`;
  return [
    `## ${summary}`,
    `${code(`${route.method} ${route.path}`)}. ${role}${description === undefined ? "" : ` ${description}`}`,
    curl(route, operation),
    ...clientCall(route.name),
    ...pythonCall(route.name),
    ...parameterTable(operation.parameters),
    ...bodySection(operation),
    answerTable(operation),
    problemLinks(operation),
  ].join("\n\n");
}

const tags = (document.tags as { name: string }[]).map(({ name }) => name);
const capital = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`;
const routesOf = (tag: string): ApiRoute[] => apiRoutes.filter(({ name }) => descriptions[name].tag === tag);

const requestTable = (routes: readonly ApiRoute[]): string =>
  table(
    ["request", "role", "purpose"],
    routes.map((route) => {
      const { summary, tag } = descriptions[route.name];
      return [code(`${route.method} ${route.path}`), roleOf(route), linkOn(pageOf(tag), summary)];
    }),
  );

const objectSection = ([name, schema]: [string, Schema]): string =>
  [`## ${name}`, ...(schema.description === undefined ? [] : [schema.description]), fieldTable(schema, false)].join(
    "\n\n",
  );

const commonTable = (): string =>
  table(
    ["name", "in", "meaning"],
    common
      .flatMap((name) => parameters[name] ?? [])
      .map(({ name, in: place, description = "" }) => [code(name), place, description]),
  );

const written =
  "<!-- Written by `npm run docs:http` from the table of routes and the schemas that check requests. Do not edit. -->";

const opening = `# HTTP API

${written}

This page is for authors of programs that call the API. It describes every route of this version. Your deployment serves the
same as an OpenAPI document, with the inputs of its task types: \`GET /openapi.json\`. For TypeScript use the
[typed client](client.md): the second example of a route is its call.

The examples need two variables. On your machine:

\`\`\`bash
export OFFLOAD_URL=http://127.0.0.1:3000 OFFLOAD_KEY=dev-acme
\`\`\`

In Python, with \`pip install requests\`; the routes that programs begin with have an example:

\`\`\`python
import os, requests

offload = requests.Session()
offload.headers["Authorization"] = f"Bearer {os.environ['OFFLOAD_KEY']}"
url = os.environ["OFFLOAD_URL"]
\`\`\`

- JSON is in snake_case. Times are ISO 8601 in UTC with milliseconds. Durations are whole seconds. Ignore fields that you do
  not know: later versions add some.
- Of a name that an object has twice, the last counts. An integer that a double cannot hold is refused: send it as text.
- \`Authorization: Bearer\` and an API key, or a JWT of the deployment's issuer. A role may do what the roles before it may:
  \`submitter\` (its own tasks), \`viewer\` (reads its tenant, and changes nothing), \`operator\` (its tenant), \`admin\` (every tenant). [Tenants](tenants.md) describes keys.
- A task of another caller is answered like one that does not exist: 404.
- A refused request has the content type \`application/problem+json\`: see [problems](problems.md). [Limits](limits.md) lists
  every limit.`;

const overviewPage = (): string[] => [
  opening,
  ...tags.flatMap((tag) => [
    `## ${linkOn(pageOf(tag), capital(tag)).replace(/#[\w-]+\)$/, ")")}`,
    requestTable(routesOf(tag)),
  ]),
  "## Every request",
  "Every request also takes:",
  commonTable(),
  "Every answer has `X-Correlation-Id`. [Objects](api-objects.md) describes the bodies of answers.",
];

const groupPage = (tag: string): string[] => [
  `# HTTP API: ${tag}`,
  written,
  "The examples use the variables of [HTTP API](api.md). [Problems](problems.md) has each refusal.",
  requestTable(routesOf(tag)),
  ...routesOf(tag).map(routeSection),
];

function objectsText(): string[] {
  const forms = new Set([...requestNames].flatMap((name) => formsOf(schemas[name] ?? {})));
  const objects = Object.entries(schemas).filter(([name, schema]) => !requestNames.has(name) && !forms.has(schema));
  return ["# HTTP API: objects", written, "The bodies of answers, by their names.", ...objects.map(objectSection)];
}

/** Each route with its problems, as the pages in a folder below link to it. */
const answeringRoutes = () =>
  apiRoutes.map((route) => {
    const { summary, tag } = descriptions[route.name];
    const section = `${linkOn(pageOf(tag), summary)}`.replace("](", "](../");
    return { codes: problemsOf(operationOf(route)), link: `${code(`${route.method} ${route.path}`)}: ${section}` };
  });

/** The pages of the HTTP API, by the paths of their files. */
export function httpPages(): Record<string, string> {
  const pages: [string, string[]][] = [
    ["api", overviewPage()],
    ...tags.map((tag): [string, string[]] => [pageOf(tag), groupPage(tag)]),
    [objectsPage, objectsText()],
    ...problemPages(answeringRoutes()),
  ];
  return Object.fromEntries(pages.map(([page, sections]) => [`docs/${page}.md`, `${sections.join("\n\n")}\n`]));
}
