import { get } from "node:http";

import { type Credentials, takeCredentialsFrom } from "./environment.ts";

/** Address in each container of ECS that returns credentials. `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` is a path there. */
const ecsHost = "http://169.254.170.2";

/** Credentials are read again this long before they expire, in milliseconds. ECS renews them earlier. */
const marginMs = 5 * 60_000;

/** Time for one try, and the number of tries, until the address has answered. */
const tryMs = 2_000;
const mostTries = 3;

interface Reading {
  readonly path: string;
  readonly credentials: Promise<Credentials>;
  /** Epoch milliseconds. Undefined: not read yet. */
  expiresAt?: number;
}

let present: Reading | undefined;

/** In a container of ECS, makes the clients of this process use the credentials of the task role. Elsewhere it does nothing. */
export function useContainerCredentials(env: NodeJS.ProcessEnv = process.env): void {
  const path = env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI || env.AWS_CONTAINER_CREDENTIALS_FULL_URI;
  if (path) takeCredentialsFrom(() => containerCredentials(path));
}

/** Credentials of the task role of a container in ECS. They are read when they are first needed, and before they expire. */
export function containerCredentials(path: string, host = ecsHost, now = Date.now): Promise<Credentials> {
  const expiresAt = present?.expiresAt ?? Number.POSITIVE_INFINITY;
  if (present?.path === path && now() < expiresAt - marginMs) return present.credentials;
  // Other calls share this one; after an error the next call reads again.
  const reading: Reading = {
    path,
    credentials: answerOf(new URL(path, host)).then((text) => {
      const { AccessKeyId, SecretAccessKey, Token, Expiration } = JSON.parse(text) as Record<string, string>;
      if (!AccessKeyId || !SecretAccessKey) throw new Error("ECS returned no credentials: no task role is set");
      reading.expiresAt = Date.parse(Expiration ?? "") || 0;
      return { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, ...(Token && { sessionToken: Token }) };
    }),
  };
  present = reading;
  reading.credentials.catch(() => {
    if (present === reading) present = undefined;
  });
  return reading.credentials;
}

/** @throws Error after the last try */
async function answerOf(url: URL): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      return await answerOnce(url);
    } catch (error) {
      if (tries >= mostTries) throw error;
    }
  }
}

const answerOnce = (url: URL): Promise<string> =>
  new Promise((resolve, reject) => {
    const request = get(url, { timeout: tryMs }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("error", reject);
      response.on("end", () =>
        response.statusCode === 200
          ? resolve(text)
          : reject(new Error(`ECS answered ${response.statusCode} to the request for credentials`)),
      );
    });
    request.on("timeout", () => request.destroy(new Error(`ECS returned no credentials within ${tryMs} ms`)));
    request.on("error", reject);
  });
