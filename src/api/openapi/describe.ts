import type { ProblemCode } from "../../core/model/problem.ts";
import type { Act, Meaning, Tag, Text } from "../acts/act.ts";
import { nothing } from "../http/act-handlers.ts";
import type { AnyRouteName } from "../http/routes.ts";
import { withName } from "./json-schema.ts";
import { headerNamesOf } from "./parts.ts";
import type { Answer, Description, RouteText } from "./route-text.ts";

/** Body of a request without input. */
export const emptyBody = withName("Nothing", nothing.describe("An empty object."));

/** Problems of a submit that passed the checks of its body. */
export const submitProblems = [
  "unknown_task_type",
  "idempotency_key_reused",
  "rate_limited",
  "quota_exceeded",
  "queue_full",
] as const;

export const acceptedTask: Answer = {
  description: "The task is accepted. Poll it after `Retry-After` seconds.",
  body: "Accepted",
  headers: ["Content-Location", "Retry-After", "Cache-Control"],
  optionalHeaders: ["Idempotent-Replayed"],
  links: { id: "task_id", to: ["readTask", "readResult", "listAttempts", "cancelTask", "extendTask"] },
};

export const notModified: Answer = {
  description: "The document has the given `ETag`.",
  headers: ["ETag", "Cache-Control"],
  optionalHeaders: ["Retry-After"],
};

export const page = "A page may be short. Only `next_cursor: null` ends the list.";

export const operationAnswers = {
  200: ["DryRun", "`dry_run`: the number of matches."],
  202: {
    description: "The operation is accepted. `Content-Location` is its path.",
    body: "OperationAccepted",
    headers: ["Content-Location", "Retry-After", "Cache-Control"],
    links: { id: "operation_id", to: ["readOperation", "cancelOperation"] },
  },
} as const;

/** A file of `src/api/acts`, apart from its rows. */
interface Acts<Name extends string> {
  // biome-ignore lint/suspicious/noExplicitAny: each act has ports, a target and a body of its own
  acts: () => Readonly<Record<Name, Act<any, any, any>>>;
  texts: Readonly<Record<Name, Text>>;
}

/** The whole descriptions of acts. */
export function describedActs<Name extends string>(usual: Tag, { acts, texts }: Acts<Name>): Record<Name, Description> {
  const all = acts();
  return ofEach<Name, Text, Description>(texts, (text, name) => whole(text.tag ?? usual, textOf(all[name], text)));
}

/** The whole descriptions of routes of one part of the document. */
export const described = <Name extends AnyRouteName>(
  tag: Tag,
  texts: Readonly<Record<Name, RouteText>>,
): Record<Name, Description> => ofEach<Name, RouteText, Description>(texts, (text) => whole(tag, text));

const ofEach = <Name extends string, From, To>(all: Readonly<Record<Name, From>>, of: (one: From, name: Name) => To) =>
  Object.fromEntries(Object.entries<From>(all).map(([name, one]) => [name, of(one, name as Name)])) as Record<Name, To>;

function textOf(
  { role, body, bodyOptional }: Pick<Act<never>, "role" | "body" | "bodyOptional">,
  { summary, description, body: name = "", parts, example, answers, problems, route }: Text,
): RouteText {
  const common = {
    summary,
    ...(description !== undefined && { description }),
    ...(role && { role }),
    ...(example !== undefined && { example }),
    answers,
    ...(problems && { problems }),
  };
  if (body === undefined)
    return route.startsWith("POST ") ? { ...common, body: emptyBody, bodyOptional: true } : common;
  for (const [part, schema] of Object.entries(parts?.(body) ?? {})) withName(part, schema);
  return { ...common, body: withName(name, body), ...(bodyOptional && { bodyOptional }) };
}

const whole = (tag: Tag, { description, answers, problems = [], ...taken }: RouteText): Description => ({
  tag,
  ...taken,
  ...(description !== undefined && { description: [description].flat().join(" ") }),
  answers: ofEach<string, Meaning | string | Answer, Answer>(answers, (meaning, status) => answerOf(status, meaning)),
  problems: [...usualProblems(taken), ...problems],
});

/** Problems of each request that has a body of this kind, or a cursor. */
function usualProblems({ body, bodyOptional, query }: Omit<RouteText, "answers">): ProblemCode[] {
  if (body === undefined) return query?.shape.cursor === undefined ? [] : ["malformed_request"];
  return ["malformed_request", "too_large", ...(bodyOptional ? [] : (["unsupported_media_type"] as const))];
}

function answerOf(status: string, meaning: Meaning | string | Answer): Answer {
  if (typeof meaning === "object" && "description" in meaning) return meaning;
  if (status === "204") return { description: meaning as string };
  if (typeof meaning === "string") {
    const headers = ["Cache-Control", ...(status === "202" ? ["Content-Location"] : [])];
    return answerOf(status, ["Task", meaning, headers, ["Retry-After"]]);
  }
  const [body, description, headers = ["Cache-Control"], optional = []] = meaning;
  return { description, body, headers: headerNamesOf(headers), optionalHeaders: headerNamesOf(optional) };
}
