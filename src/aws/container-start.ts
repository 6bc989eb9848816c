import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { createHash, createHmac } from "../util/node-crypto.ts";

/*
 * The first program of a container: it loads the code of the container workers from S3, and becomes it. It is the text
 * of a command in the task definition (`lib/container-code.ts`), so that any image with Node will do: it uses nothing
 * but Node.
 */

/**
 * Number of tries to load the code, and the pause between them in milliseconds. ECS starts another container when all
 * fail.
 */
const maxTries = 3;
const pauseMs = 2_000;

/** Time for one request, in milliseconds. */
const requestMs = 60_000;

/** Archive of the code: each file as base64, by its path. As gzipped JSON. */
export type CodeArchive = Readonly<Record<string, string>>;

interface Keys {
  readonly AccessKeyId: string;
  readonly SecretAccessKey: string;
  readonly Token?: string;
}

/**
 * Loads the code, and replaces this process by it.
 * @throws Error that names the request that failed
 */
export async function start(env: NodeJS.ProcessEnv = process.env, temporary = "/tmp"): Promise<void> {
  const folder = join(temporary, "offload");
  await loadCode(env, folder);
  // The same process, so that signals of ECS reach the code.
  (process as unknown as Execve).execve(process.execPath, [process.execPath, join(folder, "index.mjs")], {
    ...env,
    LAMBDA_TASK_ROOT: folder,
  } as NodeJS.ProcessEnv);
}

/** Node 24 has it; its types do not yet. */
interface Execve {
  execve(file: string, args: readonly string[], env: NodeJS.ProcessEnv): void;
}

/** Writes the files of the archive at `OFFLOAD_CODE_URL` into a folder, for nobody to change by mistake. */
export async function loadCode(env: NodeJS.ProcessEnv, folder: string): Promise<void> {
  const archive = await repeated(async () => {
    const keys = JSON.parse((await bodyOf(credentialsUrl(env))).toString()) as Keys;
    const url = new URL(env.OFFLOAD_CODE_URL ?? "");
    return bodyOf(url, signed(url, keys, env.AWS_REGION ?? ""));
  });
  const files = JSON.parse(gunzipSync(archive).toString()) as CodeArchive;
  for (const [path, base64] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, Buffer.from(base64, "base64"), { mode: 0o444 });
  }
}

async function repeated<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries >= maxTries) throw error;
      await wait(pauseMs);
    }
  }
}

/** Address of the credentials of the task role. ECS sets a path. */
const credentialsUrl = (env: NodeJS.ProcessEnv): URL =>
  new URL(
    env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI || env.AWS_CONTAINER_CREDENTIALS_FULL_URI || "",
    "http://169.254.170.2",
  );

async function bodyOf(url: URL, headers: Record<string, string> = {}): Promise<Buffer> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(requestMs) });
  const body = Buffer.from(await response.arrayBuffer());
  if (response.ok) return body;
  throw new Error(
    `could not load the code of this container: ${url} answered ${response.status}: ${body.subarray(0, 300)}`,
  );
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();

/** Headers of a GET request to S3, signed with version 4. */
export function signed(url: URL, keys: Keys, region: string, now = new Date()): Record<string, string> {
  const time = now.toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const day = time.slice(0, 8);
  const headers: Record<string, string> = {
    host: url.host,
    "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
    "x-amz-date": time,
    ...(keys.Token !== undefined && { "x-amz-security-token": keys.Token }),
  };
  const names = Object.keys(headers).join(";");
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const request = `GET\n${url.pathname}\n\n${lines.join("")}\n${names}\nUNSIGNED-PAYLOAD`;
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${createHash("sha256").update(request).digest("hex")}`;
  const key = [day, region, "s3", "aws4_request"].reduce<string | Buffer>(hmac, `AWS4${keys.SecretAccessKey}`);
  const signature = hmac(key, text).toString("hex");
  const { host: _, ...rest } = headers;
  return {
    ...rest,
    authorization: `AWS4-HMAC-SHA256 Credential=${keys.AccessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  };
}
