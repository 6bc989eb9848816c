import type { Metafile } from "esbuild";
import type { FunctionName } from "../../src/settings/config.ts";

/** The sources that a function loads at its start: those of its first file, and of the files that it imports statically. */
export function startup({ outputs }: Metafile) {
  const files = new Set(Object.keys(outputs).filter((file) => /(^|\/)index\.mjs$/.test(file)));
  for (const file of files) {
    for (const { kind, path } of outputs[file]?.imports ?? []) {
      if (kind === "import-statement" && outputs[path] !== undefined) files.add(path);
    }
  }
  const loaded = [...files].flatMap((file) => outputs[file] ?? []);
  return {
    files: loaded.length,
    bytes: loaded.reduce((sum, { bytes }) => sum + bytes, 0),
    sources: loaded.flatMap(({ inputs }) => Object.keys(inputs)),
    kib: kibByPart(loaded),
  };
}

/** KiB of each package, and of each folder of `src`, rounded up. */
function kibByPart(loaded: readonly Metafile["outputs"][string][]): Record<string, number> {
  const bytes: Record<string, number> = {};
  for (const [path, { bytesInOutput }] of loaded.flatMap(({ inputs }) => Object.entries(inputs))) {
    const part = partOf(path);
    bytes[part] = (bytes[part] ?? 0) + bytesInOutput;
  }
  return Object.fromEntries(Object.entries(bytes).map(([part, sum]) => [part, Math.ceil(sum / 1024)]));
}

const partOf = (path: string): string =>
  /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ??
  /^src\/(?:(?:api|code|tools)\/)?[^/]+/.exec(path)?.[0] ??
  "lambdas";

/** Functions that a client or a task waits for: their starts have budgets by part. */
export const watched = ["submit", "status", "worker", "notify", "authorizer"] as const satisfies FunctionName[];

/** The most KiB of each part. What is not listed must not be loaded at the start. A worker's own tasks count as lambdas. */
export const partBudgets: Record<(typeof watched)[number], Record<string, number>> = {
  submit: {
    ...{ uuid: 2, lambdas: 1 },
    ...{ "src/aws": 45, "src/core": 34, "src/api/http": 13, "src/api/acts": 2, "src/settings": 7, "src/util": 3 },
  },
  status: {
    ...{ lambdas: 2 },
    ...{ "src/aws": 32, "src/core": 15, "src/api/http": 13, "src/api/acts": 4, "src/settings": 7, "src/util": 3 },
  },
  worker: {
    ...{ zod: 94, uuid: 2, "fastest-levenshtein": 2, lambdas: 31, "src/aws": 53, "src/core": 116 },
    ...{ "src/machine": 2, "src/code/project": 2, "src/settings": 7, "src/util": 4 },
  },
  notify: {
    ...{ "ipaddr.js": 13, "fast-sha256": 7, "@stablelib/base64": 4, standardwebhooks: 3, uuid: 2, lambdas: 2 },
    ...{ "src/aws": 51, "src/core": 27, "src/settings": 7, "src/util": 2, "src/webhooks": 8 },
  },
  authorizer: {
    ...{ jose: 19, lambdas: 1 },
    ...{ "src/aws": 25, "src/core": 4, "src/api/http": 6, "src/settings": 7, "src/util": 2 },
  },
};

/** Node's own modules that are large: their import is a part of each cold start. */
const large = /^internal\/(deps\/|crypto\/webcrypto$|webstreams\/readablestream$|repl\/)/;

/** Node's modules among all that a process has loaded: those with a public name, and large internal ones. */
export const nodeModulesIn = (loaded: readonly string[]): string[] =>
  loaded
    .filter((name) => name.startsWith("NativeModule "))
    .map((name) => name.replace("NativeModule ", ""))
    .filter((name) => !name.startsWith("internal/") || large.test(name))
    .sort();

/** With an ES import of `node:http` or `node:crypto` these would be more: undici, HTTP/2, WebCrypto, web streams. */
const ofHttp = [
  ...["_http_agent", "_http_client", "_http_common", "_http_incoming", "_http_outgoing", "_http_server"],
  ...["crypto", "http", "https", "internal/repl/history", "net", "os", "stream", "stream/promises", "string_decoder"],
  ...["timers/promises", "tls", "worker_threads"],
];

/** Node's modules that a start loads, beside those that each process has. */
export const nodeModules: Record<(typeof watched)[number], readonly string[]> = {
  submit: ofHttp,
  status: ofHttp,
  // Of the worker's own tasks.
  worker: [...ofHttp, "perf_hooks", "zlib"].sort(),
  notify: [...ofHttp, "dns/promises"].sort(),
  authorizer: ofHttp,
};
