import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { bucket, ownS3 } from "./s3-client.ts";

const run = promisify(execFile);

/** A Python that has boto3: that of `OFFLOAD_TEST_PYTHON`, of `.venv`, or of the path. */
const python = [process.env.OFFLOAD_TEST_PYTHON ?? "", ".venv/bin/python", "python3"]
  .filter((path) => path !== "" && (path === "python3" || existsSync(path)))
  .find((path) => spawnSync(path, ["-c", "import boto3"], { timeout: 300_000 }).status === 0);

const advice = "no Python with boto3 was found; run `.venv/bin/pip install boto3`, or set OFFLOAD_TEST_PYTHON";

if (python === undefined) console.warn(`test/local/s3/boto3.test.ts is skipped: ${advice}`);

test.skipIf(python === undefined)(`boto3 can use the server (otherwise skipped: ${advice})`, async () => {
  const { server } = await ownS3();
  const { stdout } = await run(python ?? "", [join(import.meta.dirname, "use_boto3.py"), server.url, bucket]);
  expect(stdout.trim()).toBe("ok");
});
