import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startServerOf, type TestServer } from "../../src/installed/test-server.ts";
import { type Benchmark, spreadOf } from "./measure.ts";

const typeCount = 30;
const packageBytes = 3_000_000;

/** Between two rounds, in milliseconds: the workers of the other tiers start then. */
const restMs = 3_000;

/** Time between two looks at the server's output, in milliseconds. */
const lookMs = 5;

/**
 * From the save of a task file to the line that says that the new code is used, in a project with 30 types and a package of 3 MB. The floor is a
 * new Node process that only loads that package.
 */
export const reload: Benchmark = {
  name: "reload",
  async run({ folder, rounds, note }) {
    const project = join(folder, "reload");
    writeProject(project);
    const server = await startServerOf(resolve("bin/offload.js"), { folder: project, command: ["dev"] });
    const times: { reload: number; floor: number }[] = [];
    try {
      for (let round = 0; round <= rounds; round++) {
        note(`reload, round ${round}`);
        const floor = startsPackage(project);
        await sleep(restMs);
        const one = { reload: await reloadOnce(server, project, round), floor };
        // The first round reads the files from the disk.
        if (round > 0) times.push(one);
      }
    } finally {
      await server.stop();
    }
    const own = spreadOf(times.map((one) => one.reload));
    const floor = spreadOf(times.map((one) => one.floor));
    const rows = [
      ["save to reloaded", Math.round(own.median), `${Math.round(own.low)} to ${Math.round(own.high)}`],
      [
        "a Node process that loads the package",
        Math.round(floor.median),
        `${Math.round(floor.low)} to ${Math.round(floor.high)}`,
      ],
    ];
    const what = "save to reloaded, as a multiple of a Node process that loads the package";
    return {
      name: "reload",
      title: `Reload of ${typeCount} types with a package of 3 MB`,
      columns: ["", "ms", "half of the rounds"],
      rows,
      goals: [{ what, value: own.median / floor.median, atMost: 1 }],
      data: { times },
    };
  },
};

async function reloadOnce(server: TestServer, project: string, round: number): Promise<number> {
  const count = () => server.output().split("Reloaded").length;
  const before = count();
  const start = performance.now();
  writeFileSync(join(project, "tasks/type.n3.ts"), typeText(3, `// ${round}`));
  while (count() === before) await sleep(lookMs);
  return performance.now() - start;
}

function startsPackage(project: string): number {
  const start = performance.now();
  execFileSync(process.execPath, ["-e", 'require("big")'], { cwd: project, timeout: 60_000 });
  return performance.now() - start;
}

const typeText = (index: number, more = ""): string => `import big from "big";
import { defineTask } from "offload";
import * as z from "zod";
export default defineTask({ name: "type.n${index}", input: z.object({ a: z.number() }), handler: async ({ a }) => big.f${index}(a) });
${more}`;

function writeProject(folder: string): void {
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  put("package.json", '{ "private": true, "type": "module" }');
  put("node_modules/big/package.json", '{ "name": "big", "version": "1.0.0", "main": "index.js" }');
  const functionText = (index: number) =>
    `exports.f${index} = function f${index}(a) { const list = [a, ${index}]; let sum = 0; for (const one of list) sum += one > ${index} ? one * 2 : one; return { sum, list }; };\n`;
  const count = Math.ceil(packageBytes / functionText(10_000).length);
  put("node_modules/big/index.js", Array.from({ length: count }, (_, index) => functionText(index)).join(""));
  symlinkSync(resolve("node_modules/zod"), join(folder, "node_modules/zod"));
  for (let index = 0; index < typeCount; index++) put(`tasks/type.n${index}.ts`, typeText(index));
}
