import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that wait the longest, longest first: they start first, so that the rest runs beside them. */
const slowest = [
  ...["schedule-firing", "keys", "fairness", "limits", "dead-letters", "failures", "crash", "expiry"].map(
    (name) => `e2e/${name}`,
  ),
  ...["stray-tasks", "clock", "handler-kills", "crash-notes", "state", "work", "waiting", "debugger", "reload"].map(
    (name) => `local/${name}`,
  ),
  ...["aws/outage", "contract/records", "simulation/many-worlds", "api/http/fairness"],
].map((name) => `/test/${name}.test.ts`);

const place = ({ moduleId }: TestSpecification) => {
  const index = slowest.findIndex((name) => moduleId.endsWith(name));
  return index < 0 ? slowest.length : index;
};

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}

/**
 * Node loads the modules, and strips their types: a quarter less of a processor than with transforms by Vite. Tests and task files import the
 * package's entries, which `register-entries` finds in the sources: `dist` may be old, or missing.
 */
const byNode = ["--import", `${import.meta.dirname}/test/support/register-entries.ts`];

/** The condition under which `#aws-sdk/...` means `src/aws/lean`, as in `lib/esbuild.ts`. */
const leanClients = "offload-lean-source";

/** Ends a test that hangs. Long, because a busy machine is no fault: what has to be quick is a benchmark. */
const patienceMs = 300_000;
const patience = { testTimeout: patienceMs, hookTimeout: patienceMs };

/** `expect.poll` has the same patience; and each look costs a processor, which what it waits for needs. */
const patientPolls = { poll: { timeout: patienceMs, interval: 200 } };

/** A test that asserts nothing fails. Concurrent tests share one count, so projects with such tests go without. */
const expectSomething = { requireAssertions: true, ...patientPolls };

/** The emulators of a busy machine answer late, and a call that is tried again is counted twice. */
const slowEmulators = { OFFLOAD_CALL_TIME_FACTOR: "20" };

/**
 * Node keeps compiled code here for the servers, workers and commands that these tests start: half of a start's time is the compilation of the
 * same modules.
 */
const compiledOnce = { NODE_COMPILE_CACHE: `${import.meta.dirname}/node_modules/.cache/offload-tests` };

/** They replace modules, which holds only where a file's modules are not those of the files before it. */
const ownModules = ["budget", "flow-budget", "job-budget", "key-budget", "notify-budget"].map(
  (name) => `test/aws/${name}.test.ts`,
);

/** It waits for real time-outs. */
const outage = "test/aws/outage.test.ts";

/**
 * They build bundles, compile pages, start processes of their own, compare pictures, or synthesize apps with one set of options for each test:
 * seconds each, and rarely of use before a commit.
 */
const builds = [
  "test/bench/**/*.test.ts",
  "test/code/build/**/*.test.ts",
  "test/aws/{exit-after-answer,stray-tasks}.test.ts",
  "test/tools/cli/{completion,doctor,no-home,openapi}.test.ts",
  "test/tools/doctor/{container-checks,planted}.test.ts",
  "test/{client,direct,lib}/bundle.test.ts",
  "test/lib/{checks,container-code,containers,direct-submit,events,network,notify}.test.ts",
  "test/lib/{packs,properties,push,read-only,runbook,same-bytes,scopes}.test.ts",
  "test/lib/{setting-error,sizes,source-maps,stage,task-environment,task-role,tenancy,unbundled,upgrade}.test.ts",
  "test/{page-blocks,structure/questions,structure/snippets}.test.ts",
  "test/tasks/invoice*.test.ts",
  "test/jobs/**/*.test.ts",
  "test/task-files.test.ts",
  "test/webhooks/receiver-guide.test.ts",
];

/**
 * Many worlds, much data, and hours of tasks in lines: minutes in all. `test/simulation/simulation.test.ts` has a hundred
 * worlds.
 */
const worlds = [
  "test/core/extras/children/sleeping-coordinator.test.ts",
  "test/core/control/{deaths,run-operation}.test.ts",
  "test/core/extras/limits/{fast-rate,hand-over,pause,shards,strict-throughput,successor}.test.ts",
  "test/core/schedules/*.property.test.ts",
  "test/core/extras/steps/read-cost.test.ts",
  "test/core/extras/unique/collect-rate.test.ts",
  "test/simulation/many-worlds.test.ts",
  "test/scale/**/*.test.ts",
  "test/api/http/{fairness,fuzz,hostile}.test.ts",
];

/** They start an S3 server, for the clients that bundles have: `test/contract/blobs.test.ts` has those of the SDK. */
const s3 = "test/aws/s3/**/*.test.ts";

/**
 * Each operation of the lean clients is in one of these. The other suites' adapters make the same requests of the table with other items;
 * `test/aws/lean.test.ts` compares how items are written with the SDK.
 */
const wireSuites = [
  ...["blobs", "clients", "event-bus", "families", "lines", "one-offs", "queue-ages", "queues"],
  ...["records", "schedules", "step-store", "work-queues"],
].map((name) => `test/contract/${name}.test.ts`);

/** On an engine of other people (`npm run test:engines`) the tests that it fails by its own fault have to fail. */
const otherEngine = process.env.OFFLOAD_TEST_ENGINE === undefined ? [] : ["test/support/engines/known-faults.ts"];

/** Parts of the local server, each in the test's own process: they share its modules. The other tests there start servers and browsers. */
const localParts = [
  "test/local/{scheduler,sqs}/*.test.ts",
  "test/local/s3/{boto3,download,multipart,roles,signature,state,upload,web-pages}.test.ts",
  "test/local/console/rules.test.ts",
  "test/local/events/event-bus.test.ts",
  `test/local/{${[
    ...[
      "app-schedules",
      "clock-watch",
      "folder-release",
      "console-link",
      "gateway",
      "gateway-edges",
      "gather",
      "guard",
      "known-expressions",
      "metric-store",
    ],
    "processor-use",
    ...[
      "schedules",
      "source-places",
      "submits",
      "table",
      "table-operations",
      "tenants-of-keys",
      "web-sockets",
      "webhook-key",
    ],
  ].join(",")}}.test.ts`,
];

const unitFolders = [
  ...[
    "api",
    "aws",
    "client",
    "console",
    "core",
    "direct",
    "lib",
    "machine",
    "memory",
    "structure",
    "tasks",
    "tools",
    "webhooks",
  ],
];

export default defineConfig({
  test: {
    sequence: { sequencer: SlowestFirst },
    // The default leaves one core to watchers: on two cores, half of the machine.
    maxWorkers: "100%",
    experimental: { viteModuleRunner: false },
    projects: [
      {
        test: {
          execArgv: byNode,
          name: "unit",
          include: ["test/*.test.ts", `test/{${unitFolders.join(",")}}/**/*.test.ts`, "templates/test/*.test.ts"],
          exclude: [...builds, ...ownModules, ...worlds, outage, s3],
          expect: expectSomething,
          setupFiles: ["test/support/own-environment.ts"],
          isolate: false,
          pool: "threads",
          ...patience,
        },
      },
      {
        test: {
          execArgv: byNode,
          name: "build",
          include: builds,
          expect: expectSomething,
          setupFiles: ["test/support/own-environment.ts"],
          isolate: false,
          pool: "threads",
          ...patience,
        },
      },
      {
        test: {
          execArgv: byNode,
          name: "contract",
          expect: patientPolls,
          include: ["test/contract/**/*.test.ts"],
          setupFiles: otherEngine,
          isolate: false,
          pool: "threads",
          env: slowEmulators,
          ...patience,
        },
      },
      {
        test: {
          execArgv: byNode,
          name: "contract-own",
          expect: patientPolls,
          include: ownModules,
          env: slowEmulators,
          ...patience,
        },
      },
      {
        // The suites that have every kind of request, with the clients that bundles have.
        test: {
          execArgv: [...byNode, `--conditions=${leanClients}`],
          name: "contract-lean",
          expect: patientPolls,
          include: [...wireSuites, s3],
          setupFiles: otherEngine,
          isolate: false,
          pool: "threads",
          env: slowEmulators,
          ...patience,
        },
      },
      {
        test: {
          execArgv: byNode,
          name: "local-parts",
          include: localParts,
          expect: expectSomething,
          setupFiles: ["test/support/own-environment.ts"],
          isolate: false,
          pool: "threads",
          ...patience,
        },
      },
      {
        test: {
          execArgv: byNode,
          name: "local",
          include: ["test/local/**/*.test.ts", outage],
          exclude: localParts,
          expect: expectSomething,
          env: compiledOnce,
          ...patience,
          // Half of their time is spent in waits for servers that they have killed, stopped or slowed down.
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          execArgv: [...byNode, `--conditions=${leanClients}`],
          name: "local-lean",
          expect: patientPolls,
          include: [outage],
          ...patience,
        },
      },
      {
        test: {
          execArgv: byNode,
          name: "simulation",
          include: ["test/simulation/simulation.test.ts"],
          expect: expectSomething,
          ...patience,
        },
      },
      {
        test: {
          execArgv: byNode,
          name: "worlds",
          include: worlds,
          expect: expectSomething,
          // They have what other tests leave of a processor.
          testTimeout: 4 * patienceMs,
        },
      },
      {
        test: {
          execArgv: byNode,
          name: "e2e",
          expect: patientPolls,
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/support/local-server.ts"],
          maxWorkers: 4,
          env: compiledOnce,
          ...patience,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
