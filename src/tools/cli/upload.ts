import { openAsBlob } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, extname } from "node:path";
import type { Client } from "../../client/index.ts";
import { connection, followerOf } from "./connection.ts";
import type { Register } from "./group.ts";
import { type Terminal, UsageError } from "./terminal.ts";
import { withProgress } from "./transfer-progress.ts";

const examples = `
Prints the upload's id, for \`files\` of a submit. An upload that no task has taken after 24 hours is deleted.

Examples:
  npx offload upload talk.mp4
  npx offload submit video.cut --file video=talk.mp4       upload and submit in one command
`;

/** `offload upload` */
export const register: Register = (group) => {
  const own = [
    ["<file>", "file to send, at most 5 GiB"],
    ["--content-type <type>", "media type; default: from the file's extension"],
  ] as const;
  group.help(examples).does([...own, ...connection], async (options, file) => {
    const upload_id = await uploadFile(group.terminal, followerOf(options), file, options.contentType);
    return { json: { upload_id }, text: upload_id };
  });
};

/**
 * Sends a file, and returns the id of its upload.
 * @throws UsageError when the file cannot be read
 */
async function uploadFile(
  terminal: Terminal,
  client: Client,
  path: string,
  contentType = mediaTypeOf(path),
): Promise<string> {
  const source = await blobOf(path);
  return withProgress(terminal, `Uploading ${basename(path)}`, (options) =>
    client.upload(source, { contentType, fileName: basename(path) }, options),
  );
}

/** The file is read as it is sent, and again when it has to be sent again. */
async function blobOf(path: string): Promise<Blob> {
  try {
    if (!(await stat(path)).isFile()) throw new Error("it is not a file");
    return await openAsBlob(path);
  } catch (error) {
    throw new UsageError(`could not read ${path}: ${(error as Error).message}`);
  }
}

/** Parses `--file name=path`, which is repeatable. */
export function addFile(text: string, earlier: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1 || at === text.length - 1) {
    throw new UsageError(`--file: expected name=path, got ${JSON.stringify(text)}`);
  }
  return { ...earlier, [text.slice(0, at)]: text.slice(at + 1) };
}

/**
 * Sends the files of a submit. Returns the uploads' ids by the files' names. A path that is an upload's id is taken as
 * it is.
 */
export async function uploadFiles(
  terminal: Terminal,
  client: Client,
  files: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  for (const [name, path] of Object.entries(files)) {
    ids[name] = isId(path) ? path : await uploadFile(terminal, client, path);
  }
  return ids;
}

const isId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

const mediaTypes: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  ".gif": "image/gif",
  ".gz": "application/gzip",
  ".html": "text/html",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".md": "text/markdown",
  ".mov": "video/quicktime",
  ".mp3": "audio/mpeg",
  ".mp4": "video/mp4",
  ".ndjson": "application/x-ndjson",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".wav": "audio/wav",
  ".webm": "video/webm",
  ".webp": "image/webp",
  ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  ".xml": "application/xml",
  ".zip": "application/zip",
};

/** Guesses a file's media type from its name. */
const mediaTypeOf = (path: string): string => mediaTypes[extname(path).toLowerCase()] ?? "application/octet-stream";
