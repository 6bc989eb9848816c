import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";

/*
 * Runs a script of an example from this repository: `npm run example <name> [script] [-- options]`; default: its script `start`.
 * An example imports the built package, as a project of its own does, through a link in examples/node_modules. Its other packages are
 * in the repository's node_modules.
 */

const root = resolve(import.meta.dirname, "..");
const modules = join(import.meta.dirname, "node_modules");
const [name = "", script = "start", ...options] = process.argv.slice(2);
const names = readdirSync(import.meta.dirname).filter((folder) =>
  existsSync(join(import.meta.dirname, folder, "package.json")),
);

/** Runs a program with this terminal. Ends this process when it fails. */
function run(command: string, args: readonly string[], cwd: string): void {
  const { status } = spawnSync(command, args, { cwd, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

/** The file that says of which sources `dist` was built. */
const stamp = join(root, "dist/built-from");

/** Number of the source files, and the time of the newest change. */
function sourcesState(): string {
  const folders = ["bin", "console", "lambdas", "lib", "src", "templates"].map((folder) => join(root, folder));
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => statSync(join(folder, file)).mtimeMs),
  );
  return `${files.length} ${Math.max(...files)}`;
}

const isBuilt = (): boolean => existsSync(stamp) && readFileSync(stamp, "utf8") === sourcesState();

/** Ports on which an example listens, by the variables that move them. */
const ports = {
  PORT: [3000, "the API and the console"],
  OFFLOAD_DYNAMODB_PORT: [8000, "the table"],
  OFFLOAD_SQS_PORT: [9324, "the queues"],
  ...(name !== "invoice-mail" && { WEB_PORT: [4000, "the example's own page or API"] }),
} as Record<string, [standard: number, use: string]>;

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });

/** Prints the ports. Ends this process when one is in use, with the command that takes another one. */
async function sayPorts(): Promise<void> {
  for (const [variable, [standard, use]] of Object.entries(ports)) {
    const port = Number(process.env[variable] ?? standard);
    if (port !== 0 && !(await isFree(port))) {
      console.error(
        `Port ${port} is in use. Take another one for ${use}: ${variable}=${port + 1} npm run example ${name}`,
      );
      process.exit(1);
    }
    console.log(`${use}: ${port === 0 ? "a free port" : `http://127.0.0.1:${port}`}`);
  }
}

if (!names.includes(name)) {
  console.error(`Usage: npm run example <name> [script]. Examples: ${names.join(", ")}`);
  process.exit(2);
}
if (isBuilt()) console.log("The package is built already.");
else {
  console.log("Building the package, which takes about a minute. It is built again only when its sources change.");
  run("npm", ["run", "--silent", "build"], root);
  writeFileSync(stamp, sourcesState());
}
if (script === "start") await sayPorts();
mkdirSync(join(modules, ".bin"), { recursive: true });
if (!existsSync(join(modules, "offload"))) symlinkSync(root, join(modules, "offload"));
if (!existsSync(join(modules, ".bin/offload")))
  symlinkSync(join(root, "bin/offload.js"), join(modules, ".bin/offload"));
run("npm", ["run", "--silent", script, "--", ...options], join(import.meta.dirname, name));
