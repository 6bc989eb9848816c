import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { download, type JavaProgram, startJava } from "./support/engines/java.ts";
import { freePort, started } from "./support/engines/process.ts";

/*
 * Runs the suites of queues, objects and schedules on engines of other people: ElasticMQ for SQS, moto for SQS, S3 and EventBridge Scheduler. Needs
 * Maven, Java 17 and libfaketime for the first (`apt-get install maven libfaketime`), Python 3 for the second. Arguments: names of engines (default: all), then Vitest's after `--`.
 */

const motoVersion = "5.2.5";

type Service = "SQS" | "S3" | "SCHEDULER";

interface Engine {
  readonly services: readonly Service[];
  /** Gets the engine into a folder. */
  get(folder: string): void;
  /** @param clock File with the time that tests have moved on. */
  start(folder: string, port: number, clock: string): Promise<ChildProcess>;
}

const urlOf = (port: number): string => `http://127.0.0.1:${port}`;

const elasticMq: JavaProgram = {
  artifact: "org.elasticmq:elasticmq-server_2.13:1.7.1",
  main: "org.elasticmq.server.Main",
};

const elasticMqSettings = (port: number): string => `include classpath("application.conf")
rest-sqs { bind-hostname = "127.0.0.1", bind-port = ${port}, sqs-limits = strict }
rest-stats.enabled = false`;

function run(program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { stdio: "inherit", timeout: 600_000 });
  if (status !== 0) throw new Error(`${program} ${args[0]} failed: ${error?.message ?? `exit code ${status}`}`);
}

const engines: Readonly<Record<string, Engine>> = {
  elasticmq: {
    services: ["SQS"],
    get: (folder) => download(folder, elasticMq),
    start: (folder, port, clock) => {
      const settings = join(folder, "engine.conf");
      writeFileSync(settings, elasticMqSettings(port));
      // Each look at the time looks at the file: Java starts slowly, but a change is seen at once.
      const env = {
        ...{ LD_PRELOAD: fakeTime(), FAKETIME_TIMESTAMP_FILE: clock, FAKETIME_NO_CACHE: "1" },
        ...{ FAKETIME_DONT_FAKE_MONOTONIC: "1", DONT_FAKE_MONOTONIC: "1" },
      };
      return startJava(folder, { ...elasticMq, options: [`-Dconfig.file=${settings}`], env }, urlOf(port));
    },
  },
  moto: {
    services: ["SQS", "S3", "SCHEDULER"],
    get: (folder) => {
      run("python3", ["-m", "venv", folder]);
      run(join(folder, "bin/pip"), ["install", "--quiet", `moto[server,sqs,s3,scheduler]==${motoVersion}`]);
    },
    start: (folder, port, clock) => {
      const args = ["test/support/engines/run_moto.py", clock, "-H", "127.0.0.1", "-p", String(port)];
      return started(spawn(join(folder, "bin/python"), args, { stdio: "ignore" }), `${urlOf(port)}/moto-api/`);
    },
  },
};

/** The suites of a service, and the part of their names that those on an engine have. */
const suites: Readonly<Record<Service, { files: readonly string[]; name: string }>> = {
  SQS: { files: ["queues", "work-queues"], name: "in SQS" },
  S3: { files: ["blobs"], name: "in S3" },
  SCHEDULER: { files: ["one-offs", "schedules"], name: "in EventBridge Scheduler" },
};

function fakeTime(): string {
  const [library] = globSync("/usr/lib/*/faketime/libfaketimeMT.so.1");
  if (library === undefined) throw new Error("libfaketime is missing: apt-get install libfaketime");
  return library;
}

/** Runs the suites on an engine. Returns Vitest's exit code. */
async function judge(name: string, { services, get, start }: Engine, vitest: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  const clock = join(folder, "clock");
  let engine: ChildProcess | undefined;
  try {
    get(folder);
    const port = await freePort();
    writeFileSync(clock, "+0");
    engine = await start(folder, port, clock);
    const urls = services.map((service) => [`OFFLOAD_TEST_${service}`, urlOf(port)]);
    const own = {
      OFFLOAD_TEST_ENGINE: name,
      OFFLOAD_TEST_CLOCK: clock,

      ...Object.fromEntries(urls),
    };
    const files = services.flatMap((service) => suites[service].files).map((file) => `test/contract/${file}.test.ts`);
    const names = services.map((service) => suites[service].name).join("|");
    const projects = ["--project", "contract", "--project", "contract-lean"];
    // All suites move one time.
    const args = ["vitest", "run", ...projects, "--no-file-parallelism", "-t", names, ...files, ...vitest];
    console.log(`\n${name}: ${services.join(", ")}`);
    return (
      spawnSync("npx", args, { env: { ...process.env, ...own }, stdio: "inherit", timeout: 3_000_000 }).status ?? 1
    );
  } finally {
    engine?.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

const end = process.argv.indexOf("--");
const chosen = process.argv.slice(2, end < 0 ? undefined : end);
const vitest = end < 0 ? [] : process.argv.slice(end + 1);
for (const [name, engine] of Object.entries(engines)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  process.exitCode = (await judge(name, engine, vitest)) || process.exitCode;
}
