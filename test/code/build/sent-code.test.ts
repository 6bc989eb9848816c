import { transform } from "esbuild";
import { expect, test } from "vitest";
import { nameInPlace } from "../../../src/code/build/sent-code.ts";

/** Code as a deployed worker's is made. */
const named = async (code: string) => (await transform(code, { keepNames: true, target: "node24" })).code;

/** The names that a function of esbuild's gives, in their order: `__name(() => 1, "one")`. */
const byHelper = (code: string) =>
  [...code.matchAll(/__name\((?:.|\n)*?"(\w+)"\)/g)].map(([, name]) => name).filter((name) => name !== undefined);

test.each([
  ["a variable of the module", "const factor = 2; page(() => { const inner = () => factor; });"],
  ["an import", 'import { factor } from "x"; page(() => { const inner = () => factor; });'],
  ["a parameter of the function around", "page((factor) => page(() => { const inner = () => factor; }), factor);"],
  ["a class of the module", "class Factor {} page(() => { const inner = () => new Factor(); });"],
])("a function that uses %s is not sent, and keeps the short form", async (_title, code) => {
  const before = await named(`const other = 1; let page; { const factor = 3; } ${code}`);
  expect(byHelper(nameInPlace(before))).toContain("inner");
});

test.each([
  ["globals", "page(() => { const inner = () => document.title; });"],
  ["names that it declares itself", "page(({ factor }, [other = 1]) => { const inner = () => factor + other; });"],
  ["properties that are called as others outside", "page((x) => { const inner = () => ({ factor: x.other }); });"],
  ["a caught error", "page(() => { try { f(); } catch (factor) { const inner = () => factor; } });"],
])("a function that uses %s can be sent: nothing in it asks for a name outside", async (_title, code) => {
  const before = await named(`const other = 1; let page; const factor = 3; ${code}`);
  expect(byHelper(before)).toContain("inner");
  expect(byHelper(nameInPlace(before))).not.toContain("inner");
});

test("a long function is that of a package, and keeps the short form", async () => {
  const before = await named(`page(() => { const inner = () => 1; ${"f(1234567);".repeat(4_000)} });`);
  expect(nameInPlace(before)).toBe(before);
});

test("code that was built with such names before is built again", async () => {
  const before = await named(
    await named("const factor = 1; page(() => { const inner = () => 1; }); page(() => factor);"),
  );
  expect(before).toContain("__name2");
  expect(nameInPlace(before)).not.toMatch(/^ .*__name/m);
});

test("a project's own function of that name stays", async () => {
  const code = 'const __name = (a, b) => a + b; page(() => { const inner = () => __name(1, "2"); });';
  expect(nameInPlace(await named(code))).toContain('__name(1, "2")');
});
