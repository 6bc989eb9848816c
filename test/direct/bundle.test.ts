import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { afterAll, expect, test } from "vitest";
import { directSubmitBundling } from "../../lib/direct-submit.ts";

/** In KiB: a little more than `test/lib/bundle.test.ts` allows submit, as one file has also what a function loads on use. */
const budget = 355;

const folder = mkdtempSync(join(tmpdir(), "offload-direct-"));
afterAll(() => rmSync(folder, { recursive: true }));

const program = `
  import { createDirectClient } from "offload/direct";
  const offload = createDirectClient({ tenant: "acme", principal: "shop" });
  export const handler = () => offload.submit("mail.send", {});
  console.log(typeof offload.submit);
`;

/** Bundles a function that submits, as `NodejsFunction` does: one CommonJS file. */
async function bundled(name: string, options: BuildOptions) {
  const { metafile = { inputs: {}, outputs: {} } } = await build({
    stdin: { contents: program, resolveDir: resolve(".") },
    alias: { "offload/direct": resolve("src/direct/index.ts") },
    ...{ bundle: true, minify: true, platform: "node", target: "node22", format: "cjs" },
    outfile: join(folder, `${name}.cjs`),
    metafile: true,
    ...options,
  });
  const [{ bytes } = { bytes: 0 }] = Object.values(metafile.outputs);
  return { sources: Object.keys(metafile.inputs), kib: bytes / 1024 };
}

const urls = JSON.stringify(
  Object.fromEntries(["critical", "high", "normal", "low"].map((tier) => [tier, `https://sqs.example.com/${tier}`])),
);

/** Runs the bundle with the settings that `grantSubmit` sets. */
const run = (name: string) =>
  execFileSync(process.execPath, [join(folder, `${name}.cjs`)], {
    encoding: "utf8",
    env: {
      ...{
        OFFLOAD_TABLE: "offload",
        OFFLOAD_BUCKET: "offload",
        OFFLOAD_QUEUE_URLS: urls,
        OFFLOAD_DLQ_URLS: urls,
        OFFLOAD_SCHEDULE_GROUP: "offload",
      },
      ...{ OFFLOAD_FIRE_ARN: "arn:fire", OFFLOAD_SCHEDULER_ROLE_ARN: "arn:role", OFFLOAD_SCHEDULER_DLQ_ARN: "arn:dlq" },
      ...{ AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" },
    },
    timeout: 120_000,
  }).trim();

test("with the bundling of offload/cdk, a caller loads no SDK and less than the function submit", async () => {
  const conditions = directSubmitBundling.esbuildArgs["--conditions"].split(",");
  const { mainFields } = directSubmitBundling;
  const { sources, kib } = await bundled("lean", { conditions, mainFields });
  expect(sources.filter((path) => path.includes("node_modules/@aws-sdk/"))).toEqual([]);
  expect(sources).toContain("src/aws/lean/client-sqs.ts");
  expect(kib).toBeLessThanOrEqual(budget);
  expect(kib).toBeGreaterThan(budget / 2);
  expect(run("lean")).toBe("function");
});

test("without options, a caller has the SDK's clients", async () => {
  const { sources } = await bundled("sdk", {});
  expect(sources.some((path) => path.includes("node_modules/@aws-sdk/client-sqs/"))).toBe(true);
  expect(sources.filter((path) => path.startsWith("src/aws/lean/"))).toEqual([]);
  expect(run("sdk")).toBe("function");
});

test("a caller has no task, no HTTP route, and nothing of the local server or of the synth", async () => {
  const { sources } = await bundled("parts", {});
  const own = sources.filter((path) => !path.includes("node_modules/"));
  const others = own.filter((path) => !/^(src\/(aws|client|core|direct|settings|util)\/|<stdin>)/.test(path));
  expect(others).toEqual(["src/api/http/body.ts"]);
  expect(sources.filter((path) => /node_modules\/(hono|aws-cdk-lib|pdfmake)\//.test(path))).toEqual([]);
});

test("a missing setting is named, with where it comes from", async () => {
  await bundled("missing", {});
  const env = { AWS_REGION: "us-east-1" };
  // Not by the text of a crash: Node shows the line at fault, the bundle is one line, and a pipe cuts it.
  const script = `try { require("./missing.cjs") } catch (error) { console.log(error.message) }`;
  const told = execFileSync(process.execPath, ["-e", script], { env, cwd: folder, encoding: "utf8", timeout: 120_000 });
  expect(told).toMatch(/^Offload is not configured: OFFLOAD_TABLE: expected a text/);
});
