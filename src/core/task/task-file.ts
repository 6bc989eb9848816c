import { inShort } from "../../util/foreign-value.ts";
import { PermanentError } from "../model/errors.ts";
import type { StoredFile } from "../model/stored-file.ts";
import type { Blobs, Disk } from "../ports/blob.ts";
import { eachForHandler, type ForHandler } from "./own-fault.ts";

/** A file of a task, as its handler reads it. It can be read any number of times while the task is kept. */
export interface TaskFile {
  /** The client's name for the file. Undefined: it gave none. */
  readonly fileName: string | undefined;
  /** Media type that the client gave. Nothing has checked that the bytes are of it. */
  readonly contentType: string;
  readonly sizeBytes: number;
  /** 64 lowercase hexadecimal digits. Undefined: not known. */
  readonly sha256: string | undefined;
  /** Streams the bytes. Memory holds some chunks at a time. */
  stream(): ReadableStream<Uint8Array>;
  /** Reads the file into memory as a whole. */
  bytes(): Promise<Uint8Array>;
  /** Writes the file to a path of the worker's disk, such as below `/tmp`, and replaces a file that is there. */
  saveTo(path: string): Promise<void>;
}

interface FilePorts {
  blobs: Blobs;
  disk: Disk;
}

/** The files of a task by their names in its type. */
export function taskFiles(
  ports: FilePorts,
  forHandler: ForHandler,
  files: Readonly<Record<string, StoredFile>> = {},
): Readonly<Record<string, TaskFile>> {
  return Object.fromEntries(
    Object.entries(files).map(([name, file]) => [name, taskFile(ports, forHandler, name, file)]),
  );
}

function taskFile({ blobs, disk }: FilePorts, forHandler: ForHandler, name: string, file: StoredFile): TaskFile {
  async function* content(read: ForHandler): AsyncGenerator<Uint8Array> {
    const found = await read(blobs.read(file.key));
    if (found === undefined) throw new PermanentError(`the file ${name} is no longer stored`);
    yield* eachForHandler(found.bytes, read);
  }
  /** The file on the disk is closed before the attempt ends. */
  const save = async (path: string) => {
    let failed: { error: unknown } | undefined;
    const read: ForHandler = (answer) =>
      answer.catch((error: unknown) => {
        failed = { error };
        throw error;
      });
    try {
      await disk.write(path, content(read));
    } catch (error) {
      if (failed?.error !== error) throw error;
      await forHandler(Promise.reject(error));
    }
  };
  const taskFile: TaskFile = {
    fileName: file.file_name,
    contentType: file.content_type,
    sizeBytes: file.size_bytes,
    sha256: file.sha256,
    stream: () => streamOf(content(forHandler)),
    bytes: async () => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of content(forHandler)) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    saveTo: async (path) => save(checkedPath(path, name)),
  };
  stored.set(taskFile, file);
  return taskFile;
}

/** @throws PermanentError for what no path can be */
function checkedPath(path: unknown, name: string): string {
  if (typeof path === "string" || (typeof path === "object" && path !== null)) return path as string;
  throw new PermanentError(`files.${name}.saveTo: expected a path, got ${inShort(path)}`);
}

/** The part of a file, as a handler has it, that is in the record. */
const stored = new WeakMap<TaskFile, StoredFile>();

/**
 * Files that a handler gives to a child, as the child's record has them.
 * @throws PermanentError for a file that is not one of a task
 */
export const storedFiles = (
  files: Readonly<Record<string, TaskFile | undefined>>,
): Readonly<Record<string, StoredFile>> =>
  Object.fromEntries(
    Object.entries(files).flatMap(([name, file]) => {
      if (file === undefined) return [];
      const known = stored.get(file);
      if (known !== undefined) return [[name, known]];
      throw new PermanentError(`files.${name}: a child can get files of task.files only`);
    }),
  );

export const streamOf = (bytes: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> =>
  new ReadableStream({
    pull: async (controller) => {
      const next = await bytes.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    cancel: async () => {
      await bytes.return(undefined);
    },
  });
