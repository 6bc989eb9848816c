import { pathToFileURL } from "node:url";
import { loadTypes, type TaskCode } from "../../src/code/project/task-code.ts";

/* Calls the handler of each type of built code, and prints the results as JSON: `call-types.ts <first file> <variables as JSON>`. */

const [file = "", variables = "{}"] = process.argv.slice(2);
Object.assign(process.env, JSON.parse(variables));
const code = (await import(pathToFileURL(file).href)) as TaskCode;
const { types, failed } = await loadTypes(code);
const results: Record<string, unknown> = {};
for (const { file, error } of failed) results[file] = `not loaded: ${String(error)}`;
for (const { name, handler } of types) {
  results[name] = await Promise.resolve()
    .then(() => handler({} as never, {} as never))
    .catch((error: unknown) => `failed: ${String(error)}`);
}
process.stdout.write(JSON.stringify(results), () => process.exit(0));
