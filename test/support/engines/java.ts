import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { started } from "./process.ts";

/** A program of Maven Central. */
export interface JavaProgram {
  /** Group, artifact and version, with colons. */
  readonly artifact: string;
  readonly main: string;
  readonly options?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

/** Folder of a program's libraries, in the folder that it was downloaded into. */
export const libraries = (folder: string): string => join(folder, "lib");

/**
 * Downloads a program and its libraries into a folder. Maven keeps them for the next time.
 * @throws Error without Maven, or when the download failed
 */
export function download(folder: string, { artifact }: JavaProgram): void {
  const [group, name, version] = artifact.split(":");
  const dependency = `<groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version>`;
  const project = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>offload</groupId><artifactId>engine</artifactId><version>1</version>
  <dependencies><dependency>${dependency}</dependency></dependencies>
</project>`;
  writeFileSync(join(folder, "pom.xml"), project);
  const args = ["-q", "-B", "dependency:copy-dependencies", `-DoutputDirectory=${libraries(folder)}`];
  const { status, error, stdout } = spawnSync("mvn", args, { cwd: folder, encoding: "utf8", timeout: 600_000 });
  if (status !== 0) throw new Error(`Maven could not download ${artifact}: ${error?.message ?? stdout.slice(-1_000)}`);
}

/** Starts a downloaded program, and waits until it answers at a URL. */
export function startJava(folder: string, program: JavaProgram, url: string): Promise<ChildProcess> {
  const { main, options = [], args = [], env = {} } = program;
  const all = ["-Xmx512m", ...options, "-cp", join(libraries(folder), "*"), main, ...args];
  const ioOf = ["ignore", "ignore", "inherit"] as const;
  return started(spawn("java", all, { cwd: folder, stdio: [...ioOf], env: { ...process.env, ...env } }), url);
}
