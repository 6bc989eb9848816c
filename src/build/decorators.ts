import type { Plugin } from "rolldown";
import { parseSync, transformSync, Visitor } from "rolldown/utils";
import { languageOf } from "./own-places.ts";
import { isCode, isOfPackage } from "./places.ts";

/**
 * Decorators of the language itself, which neither Node nor the bundler runs, become calls. Those of a `tsconfig.json` with `experimentalDecorators`
 * are left to the bundler.
 */
export const standardDecorators: Plugin = {
  name: "standard-decorators",
  async transform(text, id) {
    if (id.startsWith("\0") || isOfPackage(id) || !isCode(id) || !/(^|[\s(])@\w/.test(text)) return null;
    if (!hasDecorators(id, text)) return null;
    const compiled = transformSync(id, text, { tsconfig: true }).code;
    if (!hasDecorators(`${id}.js`, compiled)) return null;
    const { transform } = await import("esbuild");
    const loader = languageOf(id);
    return transform(text, { loader, jsx: "preserve", target: "node24", sourcefile: id, sourcemap: true });
  },
};

function hasDecorators(id: string, text: string): boolean {
  const { program, errors } = parseSync(id, text, { lang: languageOf(id) });
  // The bundler tells it.
  if (errors.length > 0) return false;
  let has = false;
  new Visitor({
    Decorator() {
      has = true;
    },
  }).visit(program);
  return has;
}
