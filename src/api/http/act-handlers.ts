import * as z from "zod";
import { expecting } from "../../core/model/expected.ts";
import { parseInput } from "../../core/model/invalid.ts";
import type { Act, Answer, Asked } from "../acts/act.ts";
import { identify } from "./api.ts";
import { jsonBody, optionalJsonBody } from "./body.ts";
import type { ApiResponse, Call } from "./call.ts";
import type { RouteHandler } from "./router.ts";

/** Body of requests without input: an empty object. */
export const nothing = z.strictObject({});

// biome-ignore lint/suspicious/noExplicitAny: each act has a target and a body of its own
type AnyAct<Ports> = Act<Ports, any, any>;

/** The handler of each act: it finds the target, reads the body, acts and shows. */
export const handlersOf = <Ports, Name extends string>(
  ports: Ports,
  acts: Readonly<Record<Name, AnyAct<Ports>>>,
): Readonly<Record<Name, RouteHandler>> =>
  Object.fromEntries(
    Object.entries<AnyAct<Ports>>(acts).map(([name, act]) => [name, (call: Call) => answerOf(ports, act, call)]),
  ) as Record<Name, RouteHandler>;

async function answerOf<Ports>(ports: Ports, act: AnyAct<Ports>, call: Call): Promise<ApiResponse> {
  const asked = askedOf(call, act);
  const target = await act.find(ports, asked);
  const { body: schema } = act;
  if (act.isCheckedByRun) {
    const run = async () => act.run(ports, target, await jsonBody(call), asked);
    return shown(call, await expecting(schema, run));
  }
  const body = await bodyOf(call, act);
  if (act.roleFor !== undefined) identify(call, act.roleFor(body), act.reach);
  return shown(call, await act.run(ports, target, body, asked));
}

export const askedOf = (call: Call, { role, reach }: Pick<Act<never>, "role" | "reach"> = {}): Asked => ({
  by: identify(call, role, reach),
  params: call.req.params,
  correlationId: call.get("correlationId"),
  traceparent: call.get("traceparent"),
  addTarget: async (more) => call.get("addTarget")?.(more),
});

async function bodyOf(call: Call, { body, bodyOptional }: AnyAct<never>): Promise<unknown> {
  if (body === undefined) return call.req.method === "POST" ? readNothing(call) : undefined;
  return bodyAs(call, body, bodyOptional ? optionalJsonBody : jsonBody);
}

/** Reads the body of a request without input. */
export const readNothing = (call: Call) => bodyAs(call, nothing, optionalJsonBody);

/** Reads a body with a schema, which a refusal names. */
export const bodyAs = <Schema extends z.ZodType>(call: Call, schema: Schema, read = jsonBody) =>
  expecting(schema, async () => parseInput(schema, await read(call)));

/** Default: an answer with a body is not stored. */
export function shown(call: Call, { json, status, headers = { "cache-control": "no-store" } }: Answer): ApiResponse {
  if (json === undefined) return call.body(null, 204);
  for (const [name, value] of Object.entries(headers)) call.header(name, value);
  return call.json(json as object, status);
}
