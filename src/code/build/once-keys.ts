import { readFileSync } from "node:fs";
import { parseSync, Visitor } from "rolldown/utils";
import { relative } from "../../machine/paths.ts";
import { languageOf } from "./own-places.ts";

/** A call of `task.once` whose key is the same in each task. */
export interface ConstantKey {
  /** Path below the project's root. */
  readonly file: string;
  readonly line: number;
  /** The key as it is in the code, such as `"mail"`. */
  readonly key: string;
}

type Program = ReturnType<typeof parseSync>["program"];
type Visits = NonNullable<ConstructorParameters<typeof Visitor>[0]>;
type Call = Parameters<NonNullable<Visits["CallExpression"]>>[0];
type Code = Parameters<
  NonNullable<Visits["ArrowFunctionExpression" | "FunctionExpression" | "FunctionDeclaration"]>
>[0];

/** Code that may call `once` of a task. */
const sign = /\bonce\s*(<[^()]*>)?\s*\(/;

/** The calls of `task.once` in files of a project whose keys are constants. */
export const constantKeysIn = (root: string, files: readonly string[]): ConstantKey[] =>
  [...files].sort().flatMap((file) => {
    const text = readFileSync(file, "utf8");
    if (!sign.test(text)) return [];
    return constantKeys(file, text).map((found) => ({ file: relative(root, file).replaceAll("\\", "/"), ...found }));
  });

/** The calls in one file. A file that does not parse has none: the build tells of it. */
export function constantKeys(file: string, text: string): Omit<ConstantKey, "file">[] {
  const { program, errors } = parseSync(file, text, { lang: languageOf(file) });
  if (errors.length > 0) return [];
  const { calls, contexts, bare, constants } = namesIn(program, text);
  const ofTask = ({ callee }: Call): boolean => {
    if (callee.type === "Identifier") return bare.has(callee.name);
    if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return false;
    if (callee.property.name !== "once") return false;
    const { object } = callee;
    if (object.type === "Identifier") return contexts.has(object.name);
    return object.type === "CallExpression" && isNamed(object.callee, "currentTask");
  };
  return calls.flatMap((call) => {
    const [key] = call.arguments;
    if (key === undefined || !ofTask(call) || !isConstant(key, contexts, constants)) return [];
    const line = text.slice(0, call.start).split("\n").length;
    return [{ line, key: text.slice(key.start, key.end) }];
  });
}

const isNamed = (node: { type: string; name?: unknown }, name: string): boolean =>
  node.type === "Identifier" && node.name === name;

type Key = Call["arguments"][number];

/**
 * True for a key that is the same in each task of a type and tenant: a text, a constant of the file with a text, or a
 * template or a sum of such parts, of the type and of the tenant.
 */
function isConstant(key: Key, contexts: ReadonlySet<string>, constants: ReadonlySet<string>): boolean {
  const holds = (part: Key): boolean => isConstant(part, contexts, constants);
  switch (key.type) {
    case "Literal":
      return typeof key.value === "string" || typeof key.value === "number";
    case "Identifier":
      return constants.has(key.name);
    case "TemplateLiteral":
      return key.expressions.every(holds);
    case "BinaryExpression":
      return holds(key.left as Key) && holds(key.right);
    default:
      return isOfAllTasks(key, contexts);
  }
}

/** True for the type and the tenant of a task. */
function isOfAllTasks(key: Key, contexts: ReadonlySet<string>): boolean {
  if (key.type !== "MemberExpression" || key.object.type !== "Identifier") return false;
  const { object, property } = key;
  return contexts.has(object.name) && (isNamed(property, "type") || isNamed(property, "tenantId"));
}

/** The calls of a file, the names of its contexts and of `once` taken from one, and its constants that are texts. */
function namesIn(program: Program, text: string) {
  const calls: Call[] = [];
  // A helper's parameter has this name where it has no type.
  const contexts = new Set(["task"]);
  const bare = new Set<string>();
  const constants = new Map<string, boolean>();
  const declare = (name: string, isText: boolean) => constants.set(name, isText && !constants.has(name));
  const take = (parameter: Code["params"][number] | undefined) => {
    if (parameter?.type === "Identifier") contexts.add(parameter.name);
    if (parameter?.type !== "ObjectPattern") return;
    for (const one of parameter.properties) {
      if (one.type === "Property" && isNamed(one.key, "once") && one.value.type === "Identifier")
        bare.add(one.value.name);
    }
  };
  const typed = ({ params }: Code) => {
    for (const one of params) {
      const type = "typeAnnotation" in one ? one.typeAnnotation : undefined;
      if (type && /\bTaskContext\b/.test(text.slice(type.start, type.end))) take(one);
    }
  };
  new Visitor({
    CallExpression: (node) => void calls.push(node),
    Property({ key, value }) {
      const isCode = value.type === "ArrowFunctionExpression" || value.type === "FunctionExpression";
      if (isCode && (isNamed(key, "handler") || isNamed(key, "aggregate"))) take(value.params[1]);
    },
    ArrowFunctionExpression: typed,
    FunctionExpression: typed,
    FunctionDeclaration: typed,
    VariableDeclaration({ kind, declarations }) {
      for (const { id, init } of declarations) {
        const isText = kind === "const" && init?.type === "Literal" && typeof init.value === "string";
        if (id.type === "Identifier") declare(id.name, isText);
      }
    },
  }).visit(program);
  return {
    calls,
    contexts,
    bare,
    constants: new Set([...constants].flatMap(([name, isText]) => (isText ? [name] : []))),
  };
}
