import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { KeptAnalyses } from "../../../src/code/build/kept-analyses.ts";
import { traceFiles } from "../../../src/code/build/trace.ts";

let root: string;
let cache: string;

beforeEach(() => {
  root = mkdtempSync(join(realpathSync(tmpdir()), "offload-analyses-"));
  cache = join(root, "home");
  vi.stubEnv("XDG_CACHE_HOME", cache);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(root, { recursive: true, force: true });
  });
});

function write(path: string, text: string): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  // A file that is written while a build runs is not kept.
  while (Date.now() <= statSync(file).ctimeMs);
  return file;
}

const pack = (name: string, code: string) => {
  write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: "1.0.0", main: "index.js" }));
  return write(`node_modules/${name}/index.js`, code);
};

const analysis = (deps: string[] = []) => ({
  ...{ assets: new Set<string>(), deps: new Set(deps), imports: new Set<string>(), isESM: false },
});

const keptFiles = () =>
  readdirSync(cache, { recursive: true, encoding: "utf8" }).filter((name) => /analyses-/.test(name));

describe("a trace", () => {
  const traced = async () => {
    const files = await traceFiles(root, [join(root, "tasks/a.js")], new Map());
    return [...files.keys()].map((file) => file.slice(root.length + 1)).filter((file) => file.endsWith(".js"));
  };
  const whole = ["tasks/a.js", "node_modules/one/index.js", "node_modules/two/index.js"];

  beforeEach(() => {
    write("package.json", "{}");
    write("tasks/a.js", 'require("one");');
    pack("one", 'require("two");');
    pack("two", "");
  });

  test("finds the same files with what the trace before it has kept, and writes nothing into the project", async () => {
    expect((await traced()).sort()).toEqual(whole.sort());
    const [file = ""] = keptFiles();
    const kept = readFileSync(join(cache, file), "utf8");
    expect(kept).toContain("node_modules/one/index.js");
    expect(kept).not.toContain("tasks/a.js");
    expect((await traced()).sort()).toEqual(whole.sort());
    expect(readFileSync(join(cache, file), "utf8")).toBe(kept);
    expect(readdirSync(root).sort()).toEqual(["home", "node_modules", "package.json", "tasks"]);
  });

  test("sees what a package loads after it was changed, and what the project's code does", async () => {
    await traced();
    pack("three", "");
    write("node_modules/two/index.js", 'require("three");');
    expect(await traced()).toContain("node_modules/three/index.js");
    pack("four", "");
    write("tasks/a.js", 'require("one"); require("four");');
    expect(await traced()).toContain("node_modules/four/index.js");
    write("node_modules/two/index.js", "");
    expect(await traced()).not.toContain("node_modules/three/index.js");
  });

  test.each([
    ["cut off", (text: string) => text.slice(0, 20)],
    ["empty", () => ""],
    ["of another form", () => '{"a":{"stamp":1}}'],
    ["null", () => "null"],
  ])("is right with a kept file that is %s, and mends it", async (_, damage) => {
    await traced();
    const [file = ""] = keptFiles();
    const good = readFileSync(join(cache, file), "utf8");
    writeFileSync(join(cache, file), damage(good));
    expect((await traced()).sort()).toEqual(whole.sort());
    expect(JSON.parse(readFileSync(join(cache, file), "utf8"))).toEqual(JSON.parse(good));
  });
});

describe("kept analyses", () => {
  test("of another tracer are not used", () => {
    const file = pack("one", "");
    const first = new KeptAnalyses(root, "1.0.0");
    first.byFile.set(file, analysis(["x"]));
    first.save();
    expect([...new KeptAnalyses(root, "1.0.0").byFile]).toEqual([[file, analysis(["x"])]]);
    expect(new KeptAnalyses(root, "1.0.1").byFile.size).toBe(0);
  });

  test("of a file that is gone, or was written during the build, are not used", () => {
    const [one, two] = [pack("one", ""), pack("two", "")];
    const first = new KeptAnalyses(root, "1.0.0");
    for (const file of [one, two]) first.byFile.set(file, analysis());
    vi.spyOn(Date, "now").mockReturnValue(0);
    const early = new KeptAnalyses(root, "2.0.0");
    vi.restoreAllMocks();
    early.byFile.set(one, analysis());
    for (const each of [first, early]) each.save();
    rmSync(two);
    expect([...new KeptAnalyses(root, "1.0.0").byFile.keys()]).toEqual([one]);
    expect(new KeptAnalyses(root, "2.0.0").byFile.size).toBe(0);
  });

  test("of two builds at once are those of one, and whole", () => {
    const [one, two] = [pack("one", ""), pack("two", "")];
    const builds = [one, two].map((file) => {
      const build = new KeptAnalyses(root, "1.0.0");
      build.byFile.set(file, analysis());
      return build;
    });
    for (const build of builds) build.save();
    expect([...new KeptAnalyses(root, "1.0.0").byFile.keys()]).toEqual([two]);
    expect(readdirSync(root).filter((name) => name.startsWith("analyses-"))).toHaveLength(1);
  });

  test.skipIf(process.getuid?.() === 0)("that cannot be written fail no build", () => {
    const folder = join(root, "locked");
    mkdirSync(folder);
    chmodSync(folder, 0o500);
    const build = new KeptAnalyses(folder, "1.0.0");
    build.byFile.set(pack("one", ""), analysis());
    expect(() => build.save()).not.toThrow();
    chmodSync(folder, 0o700);
  });

  test("in a folder that is gone fail no build", () => {
    const build = new KeptAnalyses(join(root, "gone"), "1.0.0");
    build.byFile.set(pack("one", ""), analysis());
    expect(() => build.save()).not.toThrow();
  });
});
