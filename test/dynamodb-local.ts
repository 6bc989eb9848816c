import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/*
 * Runs the suites of the table's contracts, and the black-box suite, on Amazon's own DynamoDB Local, a second engine beside dynalite. It comes from Maven
 * Central, so Maven and Java 17 are needed: `apt-get install maven`. Arguments are Vitest's, such as the name of one file.
 */

const version = "2.6.1";
const main = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner";

const project = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>offload</groupId><artifactId>engine</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>com.amazonaws</groupId><artifactId>DynamoDBLocal</artifactId><version>${version}</version>
  </dependency></dependencies>
</project>`;

/** Downloads the engine and what it needs into a folder. Maven keeps them for the next time. */
function download(folder: string): void {
  writeFileSync(join(folder, "pom.xml"), project);
  const args = ["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"];
  const { status, error, stdout } = spawnSync("mvn", args, { cwd: folder, encoding: "utf8", timeout: 600_000 });
  if (status !== 0)
    throw new Error(`Maven could not download DynamoDB Local: ${error?.message ?? stdout.slice(-1_000)}`);
}

function start(folder: string, port: number): ChildProcess {
  const lib = join(folder, "lib");
  const args = [
    "-Xmx512m",
    `-Djava.library.path=${lib}`,
    "-cp",
    join(lib, "*"),
    main,
    "-inMemory",
    // One table for all clients, whatever their credentials and Region.
    "-sharedDb",
    "-port",
    String(port),
  ];
  return spawn("java", args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
}

async function ready(url: string): Promise<void> {
  for (let look = 0; look < 100; look++) {
    // Any answer will do: without a signature it is a refusal.
    if (await fetch(url).then(Boolean, () => false)) return;
    await sleep(300);
  }
  throw new Error("DynamoDB Local did not start within 30 s");
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const folder = mkdtempSync(join(tmpdir(), "dynamodb-local-"));
let engine: ChildProcess | undefined;
try {
  download(folder);
  const port = await freePort();
  engine = start(folder, port);
  const url = `http://127.0.0.1:${port}`;
  await ready(url);
  const env = { ...process.env, OFFLOAD_TEST_DYNAMODB: url };
  const projects = ["contract", "contract-lean", "e2e"].flatMap((name) => ["--project", name]);
  const args = ["vitest", "run", ...projects, ...process.argv.slice(2)];
  process.exitCode = spawnSync("npx", args, { env, stdio: "inherit", timeout: 1_800_000 }).status ?? 1;
} finally {
  engine?.kill();
  rmSync(folder, { recursive: true, force: true });
}
