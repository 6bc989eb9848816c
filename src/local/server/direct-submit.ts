import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DynamoCatalog } from "../../aws/catalog-store.ts";
import { tableClient } from "../../aws/clients.ts";
import { DynamoTable } from "../../aws/dynamo-table.ts";
import { localServicesVariable } from "../../aws/local-services.ts";
import { submitSettings } from "../../aws/submit-ports.ts";
import { localTable, variablesOf } from "../../settings/config.ts";
import { DiskFault } from "../disk/disk-faults.ts";

/** File with the environment of programs that submit directly, for `node --env-file`. */
const directEnvFile = "direct.env";

/**
 * Publishes the catalogue in the server's folder to the table, as a deployment does for programs that submit directly.
 */
export async function publishCatalog(filesDir: string): Promise<void> {
  const table = new DynamoTable(tableClient(), localTable);
  try {
    await new DynamoCatalog(table).save(readFileSync(join(filesDir, "catalog.json"), "utf8"));
  } finally {
    table.destroy();
  }
}

/**
 * Lets programs on this machine submit directly: they find the catalogue in the table, and their environment in a file.
 */
export async function openDirectSubmit(filesDir: string): Promise<void> {
  await publishCatalog(filesDir);
  writeDirectEnv(filesDir);
}

/** Environment of programs on this machine that submit directly. */
export const directEnv = (env: NodeJS.ProcessEnv = process.env): Record<string, string> =>
  Object.fromEntries(
    [...variablesOf(submitSettings), localServicesVariable, "OFFLOAD_LOG", "OFFLOAD_LOG_FILE"].flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** A value for `node --env-file`, which takes what is between quotes as it is: with a mark that the value has not. */
function quoted(value: string): string {
  const mark = ["'", "`", '"'].find((one) => !value.includes(one)) ?? "'";
  return `${mark}${value}${mark}`;
}

/**
 * Writes the file with the environment of programs that submit directly.
 * @throws DiskFault
 */
function writeDirectEnv(filesDir: string): void {
  const lines = Object.entries(directEnv()).map(([name, value]) => `${name}=${quoted(value)}\n`);
  const path = join(filesDir, directEnvFile);
  try {
    writeFileSync(path, lines.join(""));
  } catch (cause) {
    throw new DiskFault(path, cause);
  }
}
