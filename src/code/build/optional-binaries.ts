import { readFileSync } from "node:fs";
import { parseSync, Visitor } from "rolldown/utils";
import { dirname, resolve } from "../../machine/paths.ts";
import { isCode, manifestOf, packageName, packageOf } from "./places.ts";
import type { TracedFiles } from "./trace.ts";

/*
 * Binaries that code does without, because it was written for machines where they could not be made.
 */

/** True for a package that each package which loads it lists as optional. */
export function isOptional(folder: string, files: TracedFiles): boolean {
  const loaders = new Set(
    [...files]
      .filter(([file]) => packageOf(file) === folder)
      .flatMap(([, { parents }]) => parents.map((parent) => packageOf(parent)))
      .filter((loader) => loader !== folder),
  );
  const lists = (loader: string | undefined) =>
    loader !== undefined && manifestOf(loader)?.optionalDependencies?.[packageName(folder)] !== undefined;
  return loaders.size > 0 && [...loaders].every(lists);
}

/**
 * True when code loads some of these binaries, and goes on without each of them: it does so within `try`, and throws
 * nothing after it.
 */
export function areTried(binaries: readonly string[], files: TracedFiles): boolean {
  const loads = binaries.flatMap((binary) =>
    (files.get(binary)?.parents ?? []).filter(isCode).map((loader) => ({ binary, loader })),
  );
  return loads.length > 0 && loads.every(({ binary, loader }) => isTried(binary, loader));
}

function isTried(binary: string, loader: string): boolean {
  const { program } = parseSync(loader, readFileSync(loader, "utf8"), { lang: "jsx" });
  const tries: { start: number; end: number }[] = [];
  const throws: number[] = [];
  const loads: number[] = [];
  new Visitor({
    TryStatement({ block, handler }) {
      if (handler !== null) tries.push({ start: block.start, end: handler.end });
    },
    ThrowStatement({ start }) {
      throws.push(start);
    },
    CallExpression({ callee, arguments: [name], start }) {
      if (callee.type !== "Identifier" || callee.name !== "require" || name?.type !== "Literal") return;
      const path = resolve(dirname(loader), String(name.value));
      if (path === binary || `${path}.node` === binary) loads.push(start);
    },
  }).visit(program);
  const isWithin =
    (at: number) =>
    ({ start, end }: { start: number; end: number }) =>
      start < at && at < end;
  return (
    loads.length > 0 &&
    loads.every((at) => tries.some((one) => isWithin(at)(one) && !throws.some((thrown) => isWithin(thrown)(one))))
  );
}
