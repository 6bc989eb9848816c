import MagicString from "magic-string";
import { parseSync, Visitor } from "rolldown/utils";

/**
 * esbuild's function that gives a function or class its name: `__name(() => 1, "one")`. Code that was built before may
 * have one, too, and the newer one then has a number.
 */
const helper =
  /^var (__name\d*) = .*\(target, value\) => __defProp\d*\(target, "name", \{ value, configurable: true \}\)/gm;

/** The same without a name of the code around it. */
const inPlace = '((f, name) => Object.defineProperty(f, "name", { value: name, configurable: true }))';

/** A function that is longer, in characters, is that of a whole package. */
const mostSent = 32_768;

/** A part of the code, by its offsets. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** A function with the names that it declares and uses, or the whole code. */
interface Scope extends Span {
  readonly parent?: Scope;
  readonly declared: Set<string>;
  /** Names that its own code uses, or a function in it that does not declare them. */
  readonly used: Set<string>;
}

/** A function whose end was seen, with the names that it uses and does not declare. */
type Ended = Omit<Scope, "used"> & { readonly used: readonly string[] };

/**
 * A function that uses nothing of the code around it may be sent elsewhere as text, as one is to a page of a browser,
 * where esbuild's function for names is not defined: names in it are given in place. A function that is never sent
 * becomes somewhat longer by it, and works as before.
 * @param code Code from esbuild, with `keepNames`.
 */
export function nameInPlace(code: string): string {
  const helpers = new Set([...code.matchAll(helper)].flatMap(([, name]) => name ?? []));
  if (helpers.size === 0) return code;
  const { calls, functions } = scopesIn(code, helpers);
  const out = new MagicString(code);
  const sent = functions.filter(isAlone);
  for (const { start, end } of calls) {
    if (sent.some((one) => one.start < start && end < one.end)) out.overwrite(start, end, inPlace);
  }
  return out.toString();
}

function isAlone({ start, end, parent, used }: Ended): boolean {
  if (end - start > mostSent) return false;
  for (let outer = parent; outer !== undefined; outer = outer.parent) {
    const { declared } = outer;
    if (used.some((name) => declared.has(name))) return false;
  }
  return true;
}

function scopesIn(code: string, helpers: ReadonlySet<string>): { calls: Span[]; functions: Ended[] } {
  const calls: Span[] = [];
  const functions: Ended[] = [];
  const keys = new Set<unknown>();
  let scope: Scope = { start: 0, end: code.length, declared: new Set(), used: new Set() };
  const enter = ({ start, end, params }: { start: number; end: number; params: readonly unknown[] }) => {
    scope = { start, end, parent: scope, declared: new Set(params.flatMap(namesIn)), used: new Set() };
  };
  const leave = () => {
    const { parent, used, declared } = scope;
    if (parent === undefined) return;
    const fromOutside = [...used].filter((name) => !declared.has(name));
    functions.push({ ...scope, used: fromOutside });
    for (const name of fromOutside) parent.used.add(name);
    scope = parent;
  };
  const declare = (...patterns: unknown[]) => {
    for (const name of patterns.flatMap(namesIn)) scope.declared.add(name);
  };
  const key = ({ key: node, computed }: { key: unknown; computed: boolean }) => {
    if (!computed) keys.add(node);
  };
  new Visitor({
    FunctionDeclaration(node) {
      declare(node.id);
      enter(node);
    },
    FunctionExpression(node) {
      enter(node);
      declare(node.id);
    },
    ArrowFunctionExpression: enter,
    "FunctionDeclaration:exit": leave,
    "FunctionExpression:exit": leave,
    "ArrowFunctionExpression:exit": leave,
    VariableDeclarator: ({ id }) => declare(id),
    ClassDeclaration: ({ id }) => declare(id),
    ClassExpression: ({ id }) => declare(id),
    CatchClause: ({ param }) => declare(param),
    ImportSpecifier: ({ local }) => declare(local),
    ImportDefaultSpecifier: ({ local }) => declare(local),
    ImportNamespaceSpecifier: ({ local }) => declare(local),
    Property: key,
    MethodDefinition: key,
    PropertyDefinition: key,
    MemberExpression({ property, computed }) {
      if (!computed) keys.add(property);
    },
    CallExpression({ callee }) {
      if (callee.type === "Identifier" && helpers.has(callee.name)) calls.push(callee);
    },
    Identifier(node) {
      if (!helpers.has(node.name) && !keys.has(node)) scope.used.add(node.name);
    },
  }).visit(parseSync("code.js", code, { lang: "js" }).program);
  return { calls, functions };
}

/** The names in a pattern, as `{ a, b: [c] }`, and in its defaults. */
function namesIn(pattern: unknown): string[] {
  if (typeof pattern !== "object" || pattern === null) return [];
  if (Array.isArray(pattern)) return pattern.flatMap(namesIn);
  const node = pattern as Record<string, unknown>;
  if (node.type === "Identifier") return [String(node.name)];
  return [node.elements, node.properties, node.value, node.left, node.argument].flatMap(namesIn);
}
