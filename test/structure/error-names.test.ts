import { expect, test } from "vitest";
import { sources } from "./sources.ts";

/*
 * The functions' bundles shorten the names of Offload's own classes, and people see an error by its name, in the API
 * and in the log. So the class of an error says its name itself.
 */

const bundled = sources().filter(({ path }) => /^src\/(?!local\/|tools\/cli\/|client\/)/.test(path));

const errorClass = /\bclass (\w+)(?:<[^>]*>)? extends \w*Error\b[^{]*\{([\s\S]*?)\n?\}\n(?=\n|$)/g;

/** Names of error classes that do not say their names. */
const unnamed = (text: string): string[] =>
  [...text.matchAll(errorClass)].flatMap(([, name = "", body = ""]) => (body.includes(`"${name}"`) ? [] : [name]));

/** The name of an error that AWS answered is its code. */
const namedByCode = ["AwsError", "ConflictException", "ResourceNotFoundException", "ValidationException"];

test("every class of an error says its name, which a bundle shortens", () => {
  const found = bundled.flatMap(({ text }) => unnamed(text));
  expect(found.filter((name) => !namedByCode.includes(name))).toEqual([]);
});

test("a class without a name is found", () => {
  expect(unnamed('class A extends Error {}\n\nclass B extends TaskError {\n  readonly kind = "x";\n}\n')).toEqual([
    "A",
    "B",
  ]);
  expect(unnamed('class C extends Error {\n  static override readonly name: string = "C";\n}\n')).toEqual([]);
});
