import { describe, expect, test } from "vitest";
import type { Text } from "../../src/api/acts/act.ts";
import { files } from "../../src/api/acts/index.ts";
import { type ApiRoute, apiRoutes, isRecorded, type Route, routes } from "../../src/api/http/routes.ts";
import { openApiDocument } from "../../src/api/openapi/document.ts";
import { createClient, Operations } from "../../src/client/index.ts";
import { clientCalls } from "../support/http-page-texts.ts";
import { sentBy } from "../support/sent-by.ts";

const document = openApiDocument([], "1.2.3");
const schemas = document.components.schemas as Readonly<Record<string, Schema>>;

interface Schema {
  $ref?: string;
  properties?: Readonly<Record<string, Schema>>;
  oneOf?: readonly Schema[];
  [member: string]: unknown;
}

const resolved = (schema: Schema): Schema => schemas[schema.$ref?.split("/").at(-1) ?? ""] ?? schema;

/** The schema of a route's JSON body. Undefined: the route takes none, or an empty object. */
function bodyOf({ path, method }: Route): Schema | undefined {
  const operation = document.paths[path]?.[method.toLowerCase()] as
    | { requestBody?: { content: { "application/json": { schema: Schema } } } }
    | undefined;
  const given = operation?.requestBody?.content["application/json"].schema;
  const schema = given && resolved(given);
  return Object.keys(schema?.properties ?? {}).length > 0 || schema?.oneOf !== undefined ? schema : undefined;
}

/** The fields of a body, in each of its forms. */
const fieldsOf = ({ properties = {}, oneOf = [] }: Schema): string[] => [
  ...Object.keys(properties),
  ...oneOf.flatMap((form) => fieldsOf(resolved(form))),
];

const kinds = ["type", "$ref", "enum", "anyOf", "oneOf", "const"];

/** True when a field of a body is any JSON, such as the input of a task. */
const hasAnyJson = (schema: Schema): boolean => {
  const { properties = {}, oneOf = [] } = resolved(schema);
  const isAny = (field: Schema) => kinds.every((member) => field[member] === undefined);
  return oneOf.some(hasAnyJson) || Object.values(properties).some((field) => isAny(field) || hasAnyJson(field));
};

describe("the notes of a route", () => {
  test("are known words", () => {
    const notes = routes.flatMap((route) => route.notes);
    expect([...new Set(notes)].sort()).toEqual(["all", "body", "open", "read", "silent", "viewers"]);
  });

  const control = routes.filter((route) => route.functionName === "control" && isRecorded(route));
  const withBody = control.filter((route) => bodyOf(route) !== undefined);

  test("the search finds the bodies that may have an input", () => {
    const names = withBody.filter((route) => hasAnyJson(bodyOf(route) ?? {})).map(({ name }) => name);
    expect(names).toEqual(["retryTask", "changeTaskInput", "createSchedule", "changeSchedule", "putSchedule"]);
  });

  test.each(withBody)("the audit has the body of $name, unless it may have an input", (route) => {
    expect(route.notes.includes("body")).toBe(!hasAnyJson(bodyOf(route) ?? {}));
  });
});

describe("an act", () => {
  const acts = Object.values(files).flatMap(({ texts }) => Object.entries<Text>(texts));

  test.each(acts.filter(([, { command }]) => command !== undefined))(
    "%s has a command, whose call is a method",
    (_, { command }) => {
      const options = { url: "https://tasks.example.com", key: "key" };
      const methods = [createClient(options), new Operations(options)].map((one) =>
        Reflect.get(one, command?.call ?? ""),
      );
      expect(methods.some((method) => method instanceof Function)).toBe(true);
    },
  );

  test.each(acts)("%s has a call in the client, which sends what the route takes", async (name) => {
    const route = apiRoutes.find((one) => one.name === name) as ApiRoute;
    const sent = await sentBy(clientCalls[route.name] ?? expect.fail(`${name} has no call in clientCalls`));
    const pattern = new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
    const own = sent.find(({ method, path }) => method === route.method && pattern.test(path));
    expect(own, JSON.stringify(sent)).toBeDefined();
    const fields = fieldsOf(bodyOf(route) ?? {});
    const members = Object.keys((own?.body ?? {}) as object);
    expect(members.filter((member) => !fields.includes(member))).toEqual([]);
  });
});
