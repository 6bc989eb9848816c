import type { ObjectCommand, S3Client } from "./client-s3.ts";

interface SigningOptions {
  /** Seconds until the URL ends. */
  readonly expiresIn: number;
  /** Headers that the client has to send. Default: none. */
  readonly unhoistableHeaders?: Set<string>;
}

/** A small replacement for the SDK's function: signs a request of a command, and returns its URL. */
export const getSignedUrl = (
  client: S3Client,
  command: ObjectCommand,
  { expiresIn, unhoistableHeaders = new Set() }: SigningOptions,
): Promise<string> => client.presign(command, expiresIn, unhoistableHeaders);
