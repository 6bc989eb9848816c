import type { Plugin } from "rolldown";

/** The start of the bundler's own function that makes the namespace of a CommonJS module. */
const begin = "var __toESM = (mod, isNodeMode, target) =>";

/**
 * One line, as the line that it replaces: so the source map stays right. A module that is still running, in a circle of
 * imports, may get further exports: its namespace counts for others when no code runs any more.
 */
const shared = [
  "var __offload_namespaces = [new WeakMap(), new WeakMap()]",
  "__toESM = (mod, isNodeMode) => { " +
    "const made = __offload_namespaces[isNodeMode ? 1 : 0]; " +
    "const known = made.get(mod) ?? __offload_toESM(mod, isNodeMode); " +
    'if (mod !== null && (typeof mod === "object" || typeof mod === "function")) queueMicrotask(() => made.set(mod, known)); ' +
    "return known; }",
  "__offload_toESM = (mod, isNodeMode, target) =>",
].join(", ");

/**
 * All files that import a CommonJS module get one namespace of it, as in Node. The bundler makes one for each file,
 * with a getter for each export: thirty files that import a package with ten thousand exports take a second to load.
 */
export const sharedNamespaces: Plugin = {
  name: "shared-namespaces",
  renderChunk: (code) => (code.includes(begin) ? { code: code.replace(begin, () => shared), map: null } : null),
};
