import { parseSync, Visitor } from "rolldown/utils";
import type { Mutation } from "./mutation.ts";

/** A part of a source, from `start` to before `end`. */
interface Span {
  start: number;
  end: number;
}

/** The characters of a source that are neither space nor comment, and the place of each in it. */
interface Dense {
  text: string;
  places: number[];
}

/**
 * The source with the mutation's snippets replaced. A snippet is compared without spaces and comments, so code may be formatted and commented
 * anew, and moved within its function.
 * @throws Error when a snippet is not there exactly once: the mutation is out of date.
 */
export function broken(source: string, { file, in: name, find, replace, also }: Mutation): string {
  const first = replaced(source, { file, name, find, replace });
  return also === undefined ? first : replaced(first, { file, name: also.in ?? name, ...also });
}

/** One snippet of a function, or of the whole file, and its replacement. */
interface Snippet {
  file: string;
  name: string | undefined;
  find: string;
  replace: string;
}

function replaced(source: string, { file, name, find, replace }: Snippet): string {
  const { program, comments, errors } = parseSync(file, source, { lang: "ts" });
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const spans = name === undefined ? [{ start: 0, end: source.length }] : functionsOf(program, name);
  const place = name === undefined ? file : `${name} of ${file}`;
  if (spans.length === 0) throw new Error(`${file} has no function ${name}`);
  const wanted = without(find);
  const found = outermost(spans).flatMap((span) => spansOf(dense(source, span, comments), wanted));
  const [only] = found;
  if (only === undefined || found.length > 1)
    throw new Error(`${place} has this snippet ${found.length} times:\n${find}`);
  return source.slice(0, only.start) + replace + source.slice(only.end);
}

/** The functions of a name: declarations, methods, and constants and members that are functions. */
export function functionsOf(program: ReturnType<typeof parseSync>["program"], name: string): Span[] {
  return namedFunctions(program).filter((one) => one.name === name);
}

/** All functions of a file that have a name. */
export function namedFunctions(program: ReturnType<typeof parseSync>["program"]): (Span & { name: string })[] {
  const found: (Span & { name: string })[] = [];
  const isFunction = (node: { type: string } | null | undefined) =>
    node?.type === "ArrowFunctionExpression" || node?.type === "FunctionExpression";
  const nameOf = (key: object): string | undefined => {
    const { type, name } = key as { type: string; name?: string };
    return type === "PrivateIdentifier" ? `#${name}` : name;
  };
  const keep = (name: string | undefined, { start, end }: Span) => {
    if (name !== undefined) found.push({ name, start, end });
  };
  new Visitor({
    FunctionDeclaration: (node) => keep(node.id?.name, node),
    MethodDefinition: (node) => keep(nameOf(node.key), node),
    PropertyDefinition: (node) => isFunction(node.value) && keep(nameOf(node.key), node),
    Property: (node) => isFunction(node.value) && keep(nameOf(node.key), node),
    VariableDeclarator: (node) => isFunction(node.init) && keep(nameOf(node.id), node),
  }).visit(program);
  return found;
}

/** Without spans that lie within another one, whose text they share. */
const outermost = (spans: readonly Span[]): Span[] =>
  spans.filter((one) => !spans.some((other) => other !== one && other.start <= one.start && one.end <= other.end));

function dense(source: string, { start, end }: Span, comments: readonly Span[]): Dense {
  const places: number[] = [];
  let text = "";
  let at = start;
  for (const comment of [...comments.filter((one) => one.start >= start && one.end <= end), { start: end, end }]) {
    for (; at < comment.start; at++) {
      const character = source[at] as string;
      if (/\s/.test(character)) continue;
      text += character;
      places.push(at);
    }
    at = comment.end;
  }
  return { text, places };
}

/** A snippet without spaces and comments. */
const without = (snippet: string): string => snippet.replace(/(^|\n)\s*\/\/.*/g, "").replace(/\s+/g, "");

function spansOf({ text, places }: Dense, wanted: string): Span[] {
  const spans: Span[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const start = places[at] as number;
    spans.push({ start, end: (places[at + wanted.length - 1] as number) + 1 });
  }
  return spans;
}
