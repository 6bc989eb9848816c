import { type ChildProcess, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { download, type JavaProgram, libraries, startJava } from "./support/engines/java.ts";
import { freePort } from "./support/engines/process.ts";

/*
 * Runs the suites of the table's contracts, and the black-box suite, on Amazon's own DynamoDB Local, a second engine beside dynalite. It comes from Maven
 * Central, so Maven and Java 17 are needed: `apt-get install maven`. Arguments are Vitest's, such as the name of one file.
 */

const folder = mkdtempSync(join(tmpdir(), "dynamodb-local-"));
let engine: ChildProcess | undefined;
try {
  const port = await freePort();
  const program: JavaProgram = {
    artifact: "com.amazonaws:DynamoDBLocal:2.6.1",
    main: "com.amazonaws.services.dynamodbv2.local.main.ServerRunner",
    options: [`-Djava.library.path=${libraries(folder)}`],
    // One table for all clients, whatever their credentials and Region.
    args: ["-inMemory", "-sharedDb", "-port", String(port)],
  };
  download(folder, program);
  const url = `http://127.0.0.1:${port}`;
  engine = await startJava(folder, program, url);
  const env = { ...process.env, OFFLOAD_TEST_DYNAMODB: url };
  const projects = ["contract", "contract-lean", "e2e"].flatMap((name) => ["--project", name]);
  const args = ["vitest", "run", ...projects, ...process.argv.slice(2)];
  process.exitCode = spawnSync("npx", args, { env, stdio: "inherit", timeout: 1_800_000 }).status ?? 1;
} finally {
  engine?.kill();
  rmSync(folder, { recursive: true, force: true });
}
