import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { importsOf, type Source, sources } from "./sources.ts";

/** Who may import whom: the part of the tree, the parts of ours, and the packages. What is not listed is forbidden. */
const table: readonly { folder: string; ours: readonly string[]; packages: readonly RegExp[] }[] = [
  // Pure: no AWS, no files, no network; its packages are, too.
  {
    folder: "src/core",
    ours: [],
    packages: [/^zod$/, /^uuid$/, /^croner$/, /^jose$/, /^ipaddr\.js$/, /^node:(async_hooks|crypto)$/],
  },
  // Tools that know nothing of tasks. Who may import the core may import them.
  { folder: "src/util", ours: [], packages: [/^fastest-levenshtein$/] },
  { folder: "src/memory", ours: ["src/core"], packages: [/^node:timers$/] },
  // What users test their own tasks with: the core over its memory, and no more.
  {
    folder: "src/testkit",
    ours: ["src/core", "src/memory", "src/settings", "src/machine"],
    packages: [/^node:async_hooks$/],
  },
  // The disk of the machine, its paths, its programs, its timers, what code has under way, the stray errors of the process,
  // the columns of its terminal.
  {
    folder: "src/machine",
    ours: ["src/core"],
    packages: [
      /^node:(async_hooks|child_process|diagnostics_channel|fs|fs\/promises|net|path|perf_hooks)$/,
      /^node:(timers|timers\/promises|stream\/promises|url)$/,
      /^string-width$/,
      /^cross-spawn$/,
    ],
  },
  // Runs in browsers: types only, which the test below holds.
  { folder: "src/client", ours: ["src/core", "src/api/acts"], packages: [] },
  // Submits within the caller's process: the client's types and errors over the core and its adapters.
  {
    folder: "src/direct",
    ours: ["src/core", "src/settings", "src/aws", "src/client", "src/api/http/body.ts"],
    packages: [],
  },
  { folder: "src/tools/plan", ours: ["src/core", "src/settings", "src/machine"], packages: [/^zod$/] },
  { folder: "src/tools/doctor", ours: ["src/core", "src/settings", "src/tools/plan/figures.ts"], packages: [/^zod$/] },
  { folder: "src/settings", ours: ["src/core"], packages: [/^zod$/] },
  {
    folder: "src/aws",
    ours: ["src/core", "src/settings", "src/code/project", "src/machine/paths.ts"],
    packages: [/^zod$/, /^[@#]aws-sdk\b/, /^@opentelemetry\/api$/, /^aws-lambda$/, /^uuid$/, /^node:/],
  },
  // Acts in the words of the core: find, check, act, show. Routes, document, client and commands read them.
  { folder: "src/api/acts", ours: ["src/core"], packages: [/^zod$/] },
  {
    folder: "src/api/http",
    ours: ["src/core", "src/settings", "src/api/acts"],
    packages: [/^zod$/, /^jose$/, /^@remix-run\/multipart-parser$/, /^node:(buffer|crypto|zlib)$/],
  },
  // Sends webhooks to receivers, with a guard at the connection.
  {
    folder: "src/webhooks",
    ours: ["src/core"],
    packages: [/^standardwebhooks$/, /^node:(crypto|dns|dns\/promises|http|https|net)$/],
  },
  // Describes what src/api/http answers, from the same schemas; in no bundle.
  { folder: "src/api/openapi", ours: ["src/core", "src/api/http", "src/api/acts"], packages: [/^zod$/] },
  {
    folder: "src/local",
    ours: [
      "src/core",
      "src/settings",
      "src/aws",
      "src/api/http",
      "src/api/openapi",
      "src/code/build/local-code.ts",
      "src/code/describe",
      "src/code/project",
      "src/installed",
      "src/machine",
      "src/work",
      "lambdas",
    ],
    packages: [
      /^@aws-sdk\//,
      /^aws-lambda$/,
      /^@opentelemetry\//,
      /^zod$/,
      /^croner$/,
      /^chokidar$/,
      /^dynalite\b/,
      /^local-aws-sqs$/,
      /^ws$/,
      /^node:/,
    ],
  },
  // The one way from task files to running code. The names and checks of what they export are in bundles of workers, too.
  {
    folder: "src/code/build",
    ours: ["src/installed", "src/machine", "src/code/project"],
    packages: [/^rolldown\b/, /^@vercel\/nft$/, /^magic-string$/, /^esbuild$/, /^zod$/, /^node:/],
  },
  // Loads built code in a process of its own, and hands it back as data.
  {
    folder: "src/code/describe",
    ours: [
      ...["src/core", "src/tools/doctor", "src/code/build/local-code.ts", "src/code/build/once-keys.ts"],
      ...["src/installed", "src/machine", "src/code/project"],
      "src/aws/bundle-places.ts",
    ],
    packages: [/^node:/],
  },
  // The user's tasks folder: the names of its files, what they export, the places in their stacks.
  { folder: "src/code/project", ours: ["src/core", "src/installed", "src/machine"], packages: [/^node:/] },
  // The package as it is installed: its folders, the console's files, its command, which it starts in a process of its own.
  { folder: "src/installed", ours: ["src/machine", "src/util"], packages: [/^esbuild$/, /^node:/] },
  // The package's entries.
  {
    folder: "src/entries",
    ours: ["src/core", "src/testkit", "src/installed/test-server.ts"],
    packages: [/^node:stream$/],
  },
  // Container workers: the processes of `offload work`, over the core and its adapters.
  {
    folder: "src/work",
    ours: [...["src/core", "src/settings", "src/aws", "src/machine", "src/code/project"]],
    packages: [/^node:/],
  },
  { folder: "src/tools/init", ours: ["src/installed", "src/machine"], packages: [/^node:(fs|path)$/] },
  // Files of new projects: what a user may import.
  { folder: "templates", ours: [], packages: [/^offload\b/, /^zod$/, /^aws-cdk-lib$/, /^vitest$/, /^node:/] },
  { folder: "src/tools/cli", ours: ["src", "lib"], packages: [/^commander$/, /^@clack\/prompts$/, /^node:/] },
  // A user's task may use any package that is not part of the deployment.
  {
    folder: "tasks",
    ours: ["src/core/ports/probe-counters.ts"],
    packages: [/^(?!@aws-sdk\/|aws-cdk|constructs|hono|dynalite|local-aws-sqs)/],
  },
  {
    folder: "lambdas",
    ours: ["src/core", "src/settings", "src/aws", "src/api/http", "src/api/acts", "src/webhooks", "src/machine"],
    packages: [/^aws-lambda$/],
  },
  {
    folder: "lib",
    // Prices and limits of AWS have one place, and so do the routes.
    ours: [
      ...[
        "src/core",
        "src/settings",
        "src/api/http/routes.ts",
        "src/tools/plan/figures.ts",
        "src/tools/doctor",
        "src/api/openapi",
      ],
      ...[
        "src/code/build",
        "src/code/describe",
        "src/code/project",
        "src/installed",
        "src/machine",
        "src/work/settings.ts",
      ],
    ],
    packages: [/^aws-cdk-lib$/, /^constructs$/, /^cdk-nag$/, /^esbuild$/, /^node:/],
  },
  { folder: "bin", ours: ["lib", "src"], packages: [/^aws-cdk-lib$/, /^esbuild$/, /^node:/] },
  // Runs in browsers: the client's code, and types of what it gets.
  {
    folder: "console",
    ours: ["src/client", "src/core", "src/api/acts/views.ts", "src/api/http/routes.ts"],
    packages: [
      /^preact$/,
      /^@preact\/signals$/,
      /^oauth4webapi$/,
      /^@cfworker\/json-schema$/,
      /^console\/src\/app\.css$/,
    ],
  },
  { folder: "examples", ours: ["src/core", "tasks"], packages: [/./] },
];

const isWithin = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);

const toolsBeside = (folder: string, ours: readonly string[]): readonly string[] =>
  [folder, ...ours].includes("src/core") ? ["src/util"] : [];

const all = sources();
const inFolder = (folder: string): Source[] => all.filter(({ path }) => isWithin(path, folder));
const isOurs = (target: string) => target.includes("/") && /\.tsx?$/.test(target);

describe("who may import whom", () => {
  test.each(table)("$folder imports only what the table allows", ({ folder, ours, packages }) => {
    const forbidden = inFolder(folder).flatMap((source) =>
      importsOf(source)
        .filter((target) =>
          isOurs(target)
            ? ![folder, ...ours, ...toolsBeside(folder, ours)].some((allowed) => isWithin(target, allowed))
            : !packages.some((allowed) => allowed.test(target)),
        )
        .map((target) => `${source.path} imports ${target}`),
    );
    expect(forbidden).toEqual([]);
  });

  test("every file has its place in the table, except tests and the tools' own files", () => {
    const placeless = all
      .map(({ path }) => path)
      .filter((path) => !isWithin(path, "test") && path.includes("/"))
      .filter((path) => !table.some(({ folder }) => isWithin(path, folder)));
    expect(placeless).toEqual([]);
  });

  test("the client imports only types from other folders", () => {
    const statements = inFolder("src/client").flatMap(({ path, text }) =>
      [...text.matchAll(/^(?:import|export)\b[^;]*? from "\.\.\/[^"]+"/gm)].map(([found]) => ({ path, found })),
    );
    expect(statements.length).toBeGreaterThan(5);
    expect(statements.filter(({ found }) => !/^(import|export) type /.test(found))).toEqual([]);
  });

  test("the console imports only types from the core, the views and the routes, the words of the core's lists, and the rules of numbers, of the calendar and of waits", () => {
    const statement = /^(?:import|export)\b[^;]*? from "(?:\.\.\/)+src\/(?:core|util|api\/acts|api\/http)\/[^"]+"/gm;
    const statements = inFolder("console").flatMap(({ path, text }) =>
      [...text.matchAll(statement)].map(([found]) => ({ path, found })),
    );
    expect(statements.length).toBeGreaterThan(1);
    const allowed =
      /^(import|export) type |\/(core\/model\/(errors|words)|core\/schedules\/cron|util\/(duration|next-time|exact-number|time-zone))\.ts"$/;
    expect(statements.filter(({ found }) => !allowed.test(found))).toEqual([]);
  });

  test("functions take crypto, http and https without an import, which would load undici and WebCrypto at each start", () => {
    const ofFunctions = ["src/core", "src/util", "src/api/http", "src/webhooks", "lambdas"].flatMap(inFolder);
    const ofClients = inFolder("src/aws").filter(({ path }) => path !== "src/aws/container-start.ts");
    const imports = /^import (?!type )[^;]*? from "node:(?:crypto|https?)"/m;
    const direct = [...ofFunctions, ...ofClients].filter(({ text }) => imports.test(text));
    expect(direct.map(({ path }) => path)).toEqual([]);
  });

  test("property tests have the values of this repository's runs", () => {
    const direct = all.filter(({ path, text }) => isWithin(path, "test") && text.includes('from "fast' + '-check"'));
    expect(direct.map(({ path }) => path)).toEqual(["test/support/fast-check.ts"]);
  });

  test("no shipped file imports a test", () => {
    const shipped = all.filter(({ path }) => !isWithin(path, "test"));
    expect(shipped.filter((source) => importsOf(source).some((target) => isWithin(target, "test")))).toEqual([]);
  });

  test("what ships loads only packages that are installed with it", () => {
    const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Record<string, Record<string, string>>;
    const { dependencies = {}, peerDependencies = {}, optionalDependencies = {}, imports = {} } = manifest;
    const installed = new Set(
      [dependencies, peerDependencies, optionalDependencies, imports, { offload: "." }].flatMap(Object.keys),
    );
    const isInstalled = (target: string) => installed.has(target) || [...installed].some((own) => isOwn(own, target));
    const isOwn = (own: string, target: string) => own.startsWith("#") && target.startsWith(own.split("/")[0] ?? own);
    // The checks of this project's own templates use packages for development.
    const shipped = ["src", "lib", "lambdas", "bin"].flatMap(inFolder).filter(({ path }) => path !== "lib/checks.ts");
    const typesOnly = /^(?:import|export) type [^;]*? from "[^"]+";/gm;
    const missing = shipped.flatMap(({ path, text }) =>
      importsOf({ path, text: text.replaceAll(typesOnly, "") })
        .filter((target) => !target.startsWith("node:") && !known.has(target) && !isInstalled(target))
        .map((target) => `${path} loads ${target}`),
    );
    expect(missing).toEqual([]);
  });

  test("every import of a project file leads to a file", () => {
    const paths = new Set(all.map(({ path }) => path));
    // This file's own examples lead nowhere.
    const others = all.filter(({ path }) => path !== "test/structure/imports.test.ts");
    const lost = others.flatMap((source) =>
      importsOf(source)
        .filter((target) => isOurs(target) && !target.endsWith(".d.ts") && !paths.has(target))
        .map((target) => `${source.path} imports ${target}`),
    );
    expect(lost).toEqual([]);
  });
});

/** Files that load late code before its use. */
const lateLists: readonly string[] = ["src/core/pipeline/work/late-code.ts", "src/core/extras/late-code.ts"];

test("the code of attempts and ends that loads late is in the list of what a program with a clock of its own loads", () => {
  // The limits load as a whole, events of triggers load the other files of unique keys, and no attempt loads those of files.
  const apart = ["limits", "unique", "files"];
  const folders = inFolder("src/core/extras").flatMap(({ path }) => /^src\/core\/extras\/[^/]+(?=\/)/.exec(path) ?? []);
  const extras = [...new Set(folders)].filter((folder) => !apart.includes(folder.slice("src/core/extras/".length)));
  extras.push("src/core/extras/unique/index.ts", "src/core/extras/unique/submit-unique.ts");
  const rooms = [...extras, "src/core/pipeline/end", "src/core/pipeline/work"];
  const list = all.filter(({ path }) => lateLists.includes(path)).flatMap(importsOf);
  const late = rooms.flatMap(inFolder).flatMap(({ path, text }) => {
    const calls = text.match(/(?<!typeof )\bimport\("[^"]+"\)/g) ?? [];
    return importsOf({ path, text: calls.join("\n") });
  });
  // A package, which few tests need.
  const ofPackages = ["src/core/pipeline/send/encrypt-result.ts"];
  expect([...list, ...ofPackages].sort()).toEqual([...new Set(late)].sort());
});

/** What each file, or each folder, takes from which others. */
type Arrows = ReadonlyMap<string, ReadonlySet<string>>;

const known = new Set(all.map(({ path }) => path));

/** Types count: who needs a file's types cannot be understood without it. Files are put together by `placeOf`. */
function arrowsBetween(sources: readonly Source[], placeOf: (path: string) => string): Arrows {
  const arrows = new Map<string, Set<string>>();
  for (const source of sources) {
    const from = placeOf(source.path);
    const targets = arrows.get(from) ?? new Set<string>();
    arrows.set(from, targets);
    for (const target of importsOf(source).filter((target) => known.has(target))) {
      if (placeOf(target) !== from) targets.add(placeOf(target));
    }
  }
  return arrows;
}

function circlesIn(arrows: Arrows): string[] {
  const open: string[] = [];
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (place: string): void => {
    if (open.includes(place)) circles.push([...open.slice(open.indexOf(place)), place].join(" → "));
    if (open.includes(place) || done.has(place)) return;
    open.push(place);
    for (const target of arrows.get(place) ?? []) visit(target);
    open.pop();
    done.add(place);
  };
  for (const place of arrows.keys()) visit(place);
  return circles;
}

describe("circles of imports", () => {
  test("no files import each other in a circle, tests included; imports of types count", () => {
    expect(circlesIn(arrowsBetween(all, (path) => path))).toEqual([]);
  });

  test.each(["src/core", "src/aws", "src/local", "lib", "tasks"])(
    "the files and sub-folders of %s have no circle",
    (folder) => {
      const placeOf = (path: string) => roomIn(folder, path) || path;
      expect(circlesIn(arrowsBetween(inFolder(folder), placeOf))).toEqual([]);
    },
  );

  test("the search finds a circle that an import of a type closes", () => {
    const files: Source[] = [
      { path: "src/core/task/task.ts", text: 'import { a } from "./retry.ts";' },
      { path: "src/core/task/retry.ts", text: 'import type { B } from "./task.ts";' },
    ];
    expect(circlesIn(arrowsBetween(files, (path) => path))).toEqual([
      "src/core/task/task.ts → src/core/task/retry.ts → src/core/task/task.ts",
    ]);
  });
});

/** Folders whose folders are rooms of their own. */
const houses = ["src/core/pipeline", "src/core/extras", "src/api", "src/code", "src/tools"];

/** The room of a file: its folder within another one, which is named with its house, such as `extras/steps`. */
function roomIn(folder: string, path: string): string {
  const folders = path
    .slice(folder.length + 1)
    .split("/")
    .slice(0, -1);
  const isHouse = houses.includes(`${folder}/${folders[0]}`);
  return folders.slice(0, isHouse ? 2 : 1).join("/");
}

/** The pictures of the floors: in each folder, a room imports only rooms above it in the list. */
const floors: readonly { folder: string; rooms: readonly string[] }[] = [
  {
    folder: "src",
    rooms: [
      ...["util", "core", "machine", "installed", "settings", "code/project", "tools/init", "webhooks"],
      ...["memory", "testkit", "entries"],
      ...["api/acts", "api/http", "api/openapi", "client", "tools/plan", "tools/doctor"],
      ...["aws", "work", "direct"],
      ...["code/build", "code/describe", "local", "tools/cli"],
    ],
  },
  {
    folder: "src/core",
    rooms: [
      ...["model", "ports", "task", "limits"],
      ...["pipeline/send", "extras/steps", "extras/files", "pipeline/submit", "pipeline/end"],
      ...["kept", "limits", "notices", "on-failed", "turn"].map((extra) => `extras/${extra}`),
      ...["extras/children", "schedules", "notify", "control", "extras/unique", "pipeline/work", "extras"],
    ],
  },
  {
    folder: "src/local",
    rooms: [
      // Of this machine.
      ...["net", "disk", "time"],
      // The ways to it without HTTP.
      "direct",
      // What it plays: the services of AWS.
      ...["dynamodb", "sqs", "s3", "lambda", "gateway", "scheduler", "events", "cloudwatch"],
      // What it runs.
      ...["traces", "deployment", "workers", "server"],
    ],
  },
];

describe.each(floors)("the rooms of $folder", ({ folder, rooms }) => {
  const roomOf = (path: string) => roomIn(folder, path);

  test("every file is in one of the rooms", () => {
    expect(new Set(inFolder(folder).map(({ path }) => roomOf(path)))).toEqual(new Set(rooms));
  });

  test("each room imports only rooms above it in the list", () => {
    const upward = inFolder(folder).flatMap((source) =>
      importsOf(source)
        .filter((target) => isWithin(target, folder))
        .filter((target) => rooms.indexOf(roomOf(target)) > rooms.indexOf(roomOf(source.path)))
        .map((target) => `${source.path} imports ${target}`),
    );
    expect(upward).toEqual([]);
  });
});

describe("the extras of the core", () => {
  const extraOf = (path: string) => /^src\/core\/extras\/([^/]+)\//.exec(path)?.[1];
  const isDoor = (path: string) => /^src\/core\/extras\/[^/]+\/index\.ts$/.test(path);
  // What loads late code before its use names it.
  const core = inFolder("src/core").filter(({ path }) => !lateLists.includes(path));

  /** Statements that load the other file at once: no types, and no code that is loaded with its first use. */
  const loadedBy = ({ path, text }: Source): readonly string[] =>
    importsOf({ path, text: text.replaceAll(/^import type [^;]*;/gm, "").replaceAll(/\bimport\("[^"]+"\)/g, "") });

  /** Values that are taken of an extra past its door, or by another extra. The list only gets shorter. */
  const pastDoors: readonly string[] = [
    "extras/children/runs.ts takes extras/steps/step-tools.ts",
    "extras/unique/submit-unique.ts takes extras/kept/index.ts",
    "pipeline/work/attempt-context.ts takes extras/children/spawning.ts",
    "pipeline/work/attempt-tools.ts takes extras/steps/attempt-steps.ts",
    "schedules/handler-schedules.ts takes extras/children/child.ts",
  ];

  test("the rest of the core takes of an extra only its door, and no extra takes another one, with few exceptions", () => {
    const inCore = (path: string) => path.slice("src/core/".length);
    const found = core.flatMap((source) =>
      loadedBy(source)
        .filter((target) => extraOf(target) !== undefined && extraOf(target) !== extraOf(source.path))
        .filter((target) => !isDoor(target) || extraOf(source.path) !== undefined)
        .map((target) => `${inCore(source.path)} takes ${inCore(target)}`),
    );
    expect(found).toEqual(pastDoors);
  });

  test("the parts of the core have at most 40 arrows between them", () => {
    const partOf = (path: string) => path.split("/").slice(0, 3).join("/");
    const arrows = [...arrowsBetween(inFolder("src/core"), partOf)].flatMap(([from, targets]) =>
      [...targets].filter((to) => isWithin(to, "src/core")).map((to) => `${from} → ${to}`),
    );
    expect(arrows.length, arrows.join("\n")).toBeLessThanOrEqual(40);
  });

  test("code in which tasks change or end names no extra that follows them: it calls the hooks of all", () => {
    const words = /\bnotices\b|\buniqueKeys\b|\bunique_key\b|\bsteps\.keep\b|\/extras\/(?!(?:children|limits|steps)\/)/;
    const rooms = ["pipeline/end", "extras/children", "control", "pipeline/work"].map((room) => `src/core/${room}/`);
    const path = core.filter(({ path }) => rooms.some((room) => path.startsWith(room)));
    expect(path.filter(({ text }) => text.includes("await extras.")).length).toBeGreaterThan(9);
    expect(path.filter(({ text }) => words.test(codeOf(text))).map(({ path }) => path)).toEqual([]);
  });

  test("the pipeline imports no value of limits: it reaches them by the port of the limiter", () => {
    const statements = inFolder("src/core/pipeline/work").flatMap(({ path, text }) =>
      [...text.matchAll(/^import\b[^;]*? from "\.\.\/\.\.\/extras\/limits\/[^"]+"/gm)].map(([found]) => ({
        path,
        found,
      })),
    );
    expect(statements.length).toBeGreaterThan(0);
    expect(statements.filter(({ found }) => !found.startsWith("import type "))).toEqual([]);
  });
});

test("the ports of the core are types and one-line functions, and import only the model", () => {
  const others = inFolder("src/core/ports").flatMap((source) =>
    importsOf(source).filter((target) => !/^src\/core\/(ports|model)\//.test(target)),
  );
  expect(others).toEqual([]);
});

describe("size", () => {
  // Functions have at most 50 lines: `biome.json` holds that.
  const shippedFiles = ["src", "lib", "lambdas", "bin", "console", "tasks"].flatMap(inFolder);

  test("no file has more than 400 lines: a file is one idea", () => {
    const long = shippedFiles.filter(({ text }) => text.trimEnd().split("\n").length > 400);
    expect(long.map(({ path }) => path)).toEqual([]);
  });
});

describe("the core and its memory", () => {
  const pure = [...inFolder("src/core"), ...inFolder("src/memory")];
  const own: [string, RegExp][] = [
    ["the environment", /\bprocess\.env\b/],
    ["the clock", /\bDate\.now\s*\(|\bnew Date\(\s*\)|\bperformance\.now\b/],
    ["randomness", /\bMath\.random\b|\brandomUUID\b|\bgetRandomValues\b|\brandom\w+\b[^;]*from "node:crypto"/],
    ["timers", /\bset(Timeout|Interval)\s*\(/],
    ["the network", /\bfetch\s*\(/],
    ["the console", /\bconsole\./],
  ];

  test.each(own)("the core and its memory never use %s, which is passed in", (_, pattern) => {
    const reaching = pure.filter(({ text }) => pattern.test(codeOf(text))).map(({ path }) => path);
    expect(reaching).toEqual([]);
  });
});

test("adapters read the environment only as a parameter's default", () => {
  const reading = [...inFolder("src/aws"), ...inFolder("src/api/http")].flatMap(({ path, text }) =>
    codeOf(text)
      .split("\n")
      .filter((line) => line.includes("process.env") && !line.includes("env: NodeJS.ProcessEnv = process.env"))
      .map((line) => `${path}: ${line.trim()}`),
  );
  expect(reading).toEqual([]);
});

const codeOf = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");

describe("the look at imports", () => {
  test.each([
    ['import a from "./a.ts";', ["src/x/a.ts"]],
    ['import { a,\n  type b } from "../b.ts";', ["src/b.ts"]],
    ['import type { A } from "@aws-sdk/client-sqs/x";', ["@aws-sdk/client-sqs"]],
    ['import "hono/aws-lambda";', ["hono"]],
    ['export * from "./a.ts";', ["src/x/a.ts"]],
    ['export { a } from "./a.ts"; import b from "node:fs";', ["src/x/a.ts", "node:fs"]],
    ['const a = await import("./a.ts");', ["src/x/a.ts"]],
    ['const a = await import(\n  "./a.ts"\n);', ["src/x/a.ts"]],
    ['/* import a from "./a.ts" */\n// import b from "./b.ts"\nimport c from "./c.ts";', ["src/x/c.ts"]],
    ['export const from = "./a.ts"; const imports = ["b"];', []],
    ['import { a } from "./a.ts";\nconst url = "https://b.example"; import "./c.ts";', ["src/x/a.ts", "src/x/c.ts"]],
  ])("%j imports %j", (text, expected) => {
    expect(importsOf({ path: "src/x/file.ts", text })).toEqual(expected);
  });
});

test("code that could not be loaded is loaded again with its next use", () => {
  // An attempt that cannot load what its handler calls fails, and the next one has it anew.
  const once = all.filter(
    ({ path, text }) =>
      /^(?:src|lambdas)\//.test(path) &&
      path !== "src/core/pipeline/work/attempt-tools.ts" &&
      /\?\?= (?:import|load)\(/.test(text),
  );
  expect(once.map(({ path }) => path)).toEqual([]);
});
