import type { Plugin } from "rolldown";
import { parseSync, transformSync, Visitor } from "rolldown/utils";
import { languageOf } from "./own-places.ts";
import { isCode, isOfPackage } from "./places.ts";

/** Code that may have decorators, or JSX. */
const sign = /(^|[\s(])@\w|<[A-Za-z>]/;

interface Syntax {
  decorators: boolean;
  jsx: boolean;
}

/**
 * Syntax that a `tsconfig.json` leaves to another program, and that Node does not run: decorators of the language
 * itself (without `experimentalDecorators`), and JSX with `"jsx": "preserve"`, as Next has it, which becomes that of
 * React.
 */
export const leftSyntax: Plugin = {
  name: "left-syntax",
  async transform(text, id) {
    if (id.startsWith("\0") || isOfPackage(id) || !isCode(id) || !sign.test(text)) return null;
    const lang = languageOf(id);
    const { decorators, jsx } = syntaxIn(id, text);
    if (!decorators && !jsx) return null;
    const left = syntaxIn(`${id}.jsx`, transformSync(id, text, { lang, tsconfig: true }).code);
    if (left.decorators) {
      const { transform } = await import("esbuild");
      const to = left.jsx ? "automatic" : "preserve";
      return transform(text, { loader: lang, jsx: to, target: "node24", sourcefile: id, sourcemap: true });
    }
    const isPlain = jsx && !/x$/.test(id);
    if (!left.jsx && !isPlain) return null;
    const react = left.jsx ? { jsx: { runtime: "automatic" } as const } : {};
    const { code, map } = transformSync(id, text, { lang, tsconfig: true, sourcemap: true, ...react });
    return { code, map: map ?? null };
  },
};

/** Nothing for code that cannot be parsed: the bundler tells it. */
function syntaxIn(id: string, text: string): Syntax {
  const { program, errors } = parseSync(id, text, { lang: languageOf(id) });
  const found: Syntax = { decorators: false, jsx: false };
  if (errors.length > 0) return found;
  new Visitor({
    Decorator() {
      found.decorators = true;
    },
    JSXElement() {
      found.jsx = true;
    },
    JSXFragment() {
      found.jsx = true;
    },
  }).visit(program);
  return found;
}
