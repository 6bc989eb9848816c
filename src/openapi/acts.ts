import type { Act, Meaning, Tag, Text } from "../operations/act.ts";
import { named, withName } from "./json-schema.ts";
import type { Answer, Operation } from "./operation.ts";
import { bodyProblems, emptyBody, jsonProblems, laterTask, taskAnswer } from "./operation-parts.ts";
import { headerNamesOf } from "./parts.ts";

/** A file of `src/operations`, apart from its rows. */
interface Acts<Name extends string> {
  // biome-ignore lint/suspicious/noExplicitAny: each act has ports, a target and a body of its own
  acts: () => Readonly<Record<Name, Act<any, any, any>>>;
  texts: Readonly<Record<Name, Text>>;
}

/** The descriptions of acts. */
export function operationsOf<Name extends string>(tag: Tag, { acts, texts }: Acts<Name>): Record<Name, Operation> {
  const all = acts();
  const described = Object.entries<Text>(texts).map(([name, text]) => [
    name,
    operationOf(tag, all[name as Name], text),
  ]);
  return Object.fromEntries(described) as Record<Name, Operation>;
}

function operationOf(
  usual: Tag,
  { role, body, bodyOptional }: Pick<Act<never>, "role" | "body" | "bodyOptional">,
  { tag = usual, summary, description, body: name = "", parts, example, answers, problems = [], route }: Text,
): Operation {
  const answered = Object.entries(answers).map(([status, meaning]) => [status, answerOf(status, meaning)]);
  const about = description === undefined ? {} : { description: [description].flat().join(" ") };
  const shown = { ...(example !== undefined && { example }), answers: Object.fromEntries(answered) };
  const common = { tag, summary, ...about, ...(role && { role }), ...shown };
  if (body !== undefined) {
    for (const [part, schema] of Object.entries(parts?.(body) ?? {})) withName(part, schema);
    const before = bodyOptional ? bodyProblems : jsonProblems;
    const optional = bodyOptional && { bodyOptional };
    return { ...common, ...optional, body: withName(name, body), problems: [...before, ...problems] };
  }
  if (!route.startsWith("POST ")) return { ...common, problems };
  return { ...common, body: emptyBody, bodyOptional: true, problems: [...bodyProblems, ...problems] };
}

function answerOf(status: string, meaning: Meaning | string): Answer {
  if (status === "204") return { description: meaning as string };
  if (typeof meaning === "string") return status === "202" ? laterTask(meaning) : taskAnswer(meaning);
  const [schema, description, headers = ["Cache-Control"], optional = []] = meaning;
  return {
    description,
    // Another file may name it later.
    get body() {
      return named(schema);
    },
    headers: headerNamesOf(headers),
    optionalHeaders: headerNamesOf(optional),
  };
}
