import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";

const { exports, typesVersions } = JSON.parse(readFileSync("package.json", "utf8")) as {
  exports: Record<string, Target | string>;
  typesVersions: { "*": Record<string, string[]> };
};

/** Files of an entry. Node, which can `require` an ES module, gets the ES module either way: a process then has one copy. */
interface Target {
  import: { types: string; default: string };
  "module-sync": string;
  module: string;
  require: { types: string; default: string };
  default: string;
}

/** The source of each entry of the package, by what a user imports. */
const entries = Object.fromEntries(
  Object.entries(exports).flatMap(([name, target]) =>
    typeof target === "string"
      ? []
      : [[name.replace(/^\./, "offload"), target.default.replace("./dist/", "").replace(/\.js$/, ".ts")]],
  ),
);

/** The files of ours, the packages, and the code that a program loads with an entry. */
async function loadedBy(source: string): Promise<{ files: string[]; packages: string[]; code: string }> {
  const { metafile, outputFiles } = await build({
    entryPoints: [source],
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "node",
    packages: "external",
    outdir: "unused",
  });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  const external = imports.filter((one) => one.external === true && one.kind === "import-statement");
  const packageOf = (path: string) => path.split("/", path.startsWith("@") ? 2 : 1).join("/");
  return {
    files: Object.keys(metafile.inputs),
    packages: [...new Set(external.map(({ path }) => packageOf(path)))].sort(),
    code: outputFiles.map(({ text }) => text).join("\n"),
  };
}

/** Functions that Node 20 lacks. */
const newerThanNode20 =
  /\b(?:(?:Map|Object)\.groupBy|Array\.fromAsync|Promise\.(?:withResolvers|try)|Error\.isError|RegExp\.escape|Iterator\.(?:from|concat)|Uint8Array\.from(?:Base64|Hex)|process\.threadCpuUsage|registerHooks|stripTypeScriptTypes|globSync|import\.meta\.main)\b|\.(?:is(?:Subset|Superset)Of|isDisjointFrom|symmetricDifference|toBase64|toHex)\(|\.(?:values|keys|entries)\(\)\s*\.(?:map|filter|some|every|find|take|drop|toArray|flatMap|reduce|forEach)\(/g;

/** Programs that docs/existing-project.md promises on Node 20, with those that a synthesis starts. */
const onNode20 = [
  ...[
    "lib/index.ts",
    "lib/around-code-process.ts",
    "src/code/describe/describe-process.ts",
    "src/code/describe/sources-process.ts",
  ],
  ...["src/code/build/build-process.ts", "src/tools/cli/init.ts", "src/client/index.ts", "src/direct/index.ts"],
];
test.each(onNode20)("%s calls no function that Node 20 lacks", async (source) => {
  const { code } = await loadedBy(source);
  expect(code.match(newerThanNode20) ?? []).toEqual([]);
});

describe("what a program loads", () => {
  const allowed: Record<string, { packages: string[]; files: RegExp }> = {
    offload: {
      packages: ["fastest-levenshtein", "node:async_hooks", "node:stream"],
      files: /^src\/(entries\/(index|task-stream)\.ts$|(core|util)\/)/,
    },
    "offload/schedules": {
      packages: ["croner", "fastest-levenshtein", "zod"],
      files: /^src\/(entries\/schedules\.ts$|(core|util)\/)/,
    },
    "offload/triggers": {
      packages: ["fastest-levenshtein", "ipaddr.js", "zod"],
      files: /^src\/(entries\/triggers\.ts$|(core|util)\/)/,
    },
    "offload/client": { packages: [], files: /^src\/client\// },
    "offload/testing": {
      packages: [
        "croner",
        "fastest-levenshtein",
        "jose",
        "node:async_hooks",
        "node:child_process",
        "node:diagnostics_channel",
        "node:events",
        "node:fs",
        "node:http",
        "node:net",
        "node:path",
        "node:perf_hooks",
        "node:stream",
        "node:timers",
        "node:url",
        "zod",
      ],
      files:
        /^src\/((core|util|memory|testkit|settings)\/|entries\/testing\.ts$|installed\/(test-server|server-clock|installation)\.ts$|machine\/(disk|follow|paths|stray-errors|timers|turn)\.ts$)/,
    },
    // The parts of the function submit, for a function of the user's own.
    "offload/direct": {
      packages: [
        ...["@aws-sdk/client-dynamodb"],
        ...[
          "@aws-sdk/client-lambda",
          "@aws-sdk/client-s3",
          "@aws-sdk/client-scheduler",
          "@aws-sdk/client-sqs",
          "@aws-sdk/lib-dynamodb",
        ],
        ...["@aws-sdk/lib-storage", "@aws-sdk/s3-request-presigner", "@opentelemetry/api"],
        ...["fastest-levenshtein", "ipaddr.js", "uuid", "zod"],
      ],
      files: /^src\/(direct|core|util|aws|api\/http|client|settings)\//,
    },
    "offload/cdk": {
      packages: [
        "@remix-run/multipart-parser",
        "aws-cdk-lib",
        "constructs",
        "croner",
        "esbuild",
        "fastest-levenshtein",
        "ipaddr.js",
        "zod",
      ],
      files: /^(lib|src)\/(?!local|tools\/cli|aws|client)/,
    },
  };

  test("every entry is held", () => {
    expect(Object.keys(allowed).sort()).toEqual(Object.keys(entries).sort());
  });

  test.each(Object.entries(allowed))("with %s", async (name, { packages, files }) => {
    const loaded = await loadedBy(entries[name] ?? "");
    const forNode = ["offload/cdk", "offload/direct"].includes(name);
    const others = loaded.packages.filter((one) => !forNode || !one.startsWith("node:"));
    expect(others).toEqual(packages);
    expect(loaded.files.filter((file) => !files.test(file))).toEqual([]);
  });
});

test("each entry has an ES module and a CommonJS file, with types for both and for compilers that do not know `exports`", () => {
  for (const [name, target] of Object.entries(exports)) {
    if (typeof target === "string") continue;
    const file = target.default.replace(/\.js$/, "");
    const own = name === "." ? "index" : name.slice(2);
    const types = `${file.replace("./dist/", "./dist/commonjs/types/")}.d.ts`;
    expect(target).toEqual({
      import: { types: `${file}.d.ts`, default: target.default },
      "module-sync": target.default,
      module: target.default,
      require: { types, default: `./dist/commonjs/${own}.js` },
      default: target.default,
    });
    if (name !== ".") expect(typesVersions["*"][own]).toEqual([types]);
  }
});

test("the compiler finds the same sources behind the entries as the package's users", () => {
  const { compilerOptions } = JSON.parse(readFileSync("tsconfig.json", "utf8")) as {
    compilerOptions: { paths: Record<string, string[]> };
  };
  const paths = Object.entries(compilerOptions.paths).map(([name, [path = ""] = []]) => [name, path.replace("./", "")]);
  expect(Object.fromEntries(paths)).toEqual(entries);
});
