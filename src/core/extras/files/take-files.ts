import type { Gate } from "../../limits/gate.ts";
import { type InputError, Problem } from "../../model/problem.ts";
import { isKept, iso, type TaskKey } from "../../model/record.ts";
import { type FileOptions, largestFileBytes, type StoredFile } from "../../model/stored-file.ts";
import type { Identity } from "../../model/words.ts";
import type { BlobPorts } from "../../pipeline/send/large-input.ts";
import { dayMs, dayOf, type Upload, type Uploads } from "../../ports/blob.ts";
import type { Records } from "../../ports/tasks.ts";
import type { KnownType } from "../../task/catalog.ts";
import { allowsContentType } from "../../task/file-options.ts";
import type { SentUpload, SentUploads } from "./uploads.ts";

export interface FilePorts extends BlobPorts {
  records: Records;
  /** Absent: the caller submits without files, as handlers and schedules do. */
  uploads?: Uploads;
  /** Absent: no upload counts. */
  gate?: Pick<Gate, "takeUpload"> | undefined;
}

/** Takes the checked files of a submit for its task. */
export type FilesToTake = (task: TaskKey) => Promise<Readonly<Record<string, StoredFile>> | undefined>;

/** The files of a submit: uploads that it names, and files that came with it. */
export interface GivenFiles {
  /** Ids of uploads by the files' names. */
  ids: Readonly<Record<string, string>> | undefined;
  /** The files among them that are not stored. */
  sent: SentUploads | undefined;
}

/** A checked file of a submit: an upload that exists, or a file that is stored when its submit has been admitted. */
type CheckedFile = { upload: Upload } | { uploadId: string; sent: SentUpload };

/** The files of a submit, checked, and not taken yet. */
type CheckedFiles = ReadonlyMap<string, CheckedFile>;

/**
 * Checks the files of a submit, and returns what stores and takes them.
 * @throws Problem and PortUnavailable as `checkFiles`
 */
export async function filesToTake(
  ports: FilePorts,
  identity: Identity,
  type: KnownType,
  given: GivenFiles,
): Promise<FilesToTake> {
  const files = await checkFiles(ports, identity, type, given);
  return (task) => takeFiles(ports, identity, task, files);
}

/**
 * Checks the files of a submit against its type, its caller, and the bucket. Writes nothing.
 * @throws Problem `invalid_input` with a fault for each wrong file; PortUnavailable
 */
async function checkFiles(
  ports: FilePorts,
  identity: Identity,
  { name: type, files: options = {} }: KnownType,
  { ids: given = {}, sent }: GivenFiles,
): Promise<CheckedFiles> {
  const found = new Map<string, CheckedFile>();
  const errors = unknownFiles(type, options, given);
  for (const [name, option] of Object.entries(options)) {
    const uploadId = Object.hasOwn(given, name) ? given[name] : undefined;
    if (uploadId === undefined && option.required === false) continue;
    const file =
      uploadId === undefined
        ? absent
        : (checkSent(sent, uploadId, option) ?? (await checkOne(ports, identity, uploadId, option)));
    if (typeof file === "string") errors.push({ path: `/files/${name}`, message: file });
    else found.set(name, file);
  }
  if (errors.length > 0) throw fileProblem(errors);
  return found;
}

const unknownFiles = (type: string, options: object, given: object): InputError[] =>
  Object.keys(given)
    .filter((name) => !Object.hasOwn(options, name))
    .map((name) => ({ path: `/files/${name}`, message: `tasks of the type ${type} have no such file` }));

/**
 * Checks the files that a child gets from its parent, whose they stay. Returns what takes them, which stores nothing.
 * @throws Problem `invalid_input` with a fault for each wrong file
 */
export function sharedFiles(
  { name: type, files: options = {} }: KnownType,
  given: Readonly<Record<string, StoredFile>>,
): FilesToTake {
  const errors = unknownFiles(type, options, given);
  for (const [name, option] of Object.entries(options)) {
    const file = Object.hasOwn(given, name) ? given[name] : undefined;
    const fault = file === undefined ? missingFault(option) : unfitFault(file, option);
    if (fault !== undefined) errors.push({ path: `/files/${name}`, message: fault });
  }
  if (errors.length > 0) throw fileProblem(errors);
  return async () => given;
}

const missingFault = ({ required }: FileOptions) => (required === false ? undefined : "this file is required");

const absent = "this file is required; expected the id of an upload";

/** The file that came with the submit, or its fault. Undefined: no file of this id came with it. */
function checkSent(
  sent: SentUploads | undefined,
  uploadId: string,
  option: FileOptions,
): CheckedFile | string | undefined {
  const file = sent?.get(uploadId);
  return file && (unfitFault(file.facts, option) ?? { uploadId, sent: file });
}

/** The upload, or its fault. */
async function checkOne(
  ports: FilePorts,
  identity: Identity,
  uploadId: string,
  option: FileOptions,
): Promise<CheckedFile | string> {
  const upload = await ports.uploads?.get(identity.tenantId, uploadId);
  if (upload === undefined || !mayUse(identity, upload)) return missing;
  return (await faultOf(ports, upload, option)) ?? { upload };
}

const missing = "no such upload, or it has expired";

const fileProblem = (errors: InputError[]): Problem =>
  new Problem(
    "invalid_input",
    errors.map(({ path, message }) => `${path.slice(1).replace("/", ".")}: ${message}`).join("; "),
    {
      errors,
    },
  );

const mayUse = ({ principal, role }: Identity, upload: Upload): boolean =>
  upload.requested_by === principal || role !== "submitter";

async function faultOf({ blobs, clock }: FilePorts, upload: Upload, option: FileOptions): Promise<string | undefined> {
  if (upload.expires_at <= iso(clock.now()) && upload.taken_by === undefined) return missing;
  const unfit = unfitFault(upload, option);
  if (unfit !== undefined) return unfit;
  const stored = await blobs.head(upload.key);
  if (stored === undefined) return "the file was not uploaded yet";
  if (stored.sizeBytes !== upload.size_bytes) {
    return `the file has ${stored.sizeBytes} bytes, and ${upload.size_bytes} were announced`;
  }
  const differs = upload.sha256 !== undefined && stored.sha256 !== undefined && upload.sha256 !== stored.sha256;
  return differs ? "the file does not have the announced sha256" : undefined;
}

/** The reason why a file's type or size does not fit its option. */
function unfitFault(
  { content_type, size_bytes }: Pick<StoredFile, "content_type" | "size_bytes">,
  option: FileOptions,
): string | undefined {
  const { maxBytes = largestFileBytes, contentTypes = [] } = option;
  if (!allowsContentType(option, content_type)) {
    return `${content_type} is not allowed; expected ${contentTypes.join(", ")}`;
  }
  return size_bytes > maxBytes ? `the file has ${size_bytes} bytes; the limit is ${maxBytes}` : undefined;
}

/**
 * Takes uploads for a task, so that they are kept as long as it, and stores those that came with the submit. Repeatable
 * for the same task.
 * @throws Problem `invalid_input` when another task has taken one: then nothing was stored; PortUnavailable
 */
async function takeFiles(
  ports: FilePorts,
  identity: Identity,
  task: TaskKey,
  files: CheckedFiles,
): Promise<Record<string, StoredFile> | undefined> {
  if (files.size === 0) return undefined;
  const taken = new Map<string, Upload>();
  for (const [name, file] of files)
    if ("upload" in file) taken.set(name, await takeUpload(ports, task, name, file.upload));
  for (const [name, file] of files) {
    if ("sent" in file) taken.set(name, await takeUpload(ports, task, name, await storeSent(ports, identity, file)));
  }
  return Object.fromEntries([...files.keys()].flatMap((name) => entryOf(name, taken.get(name))));
}

const entryOf = (name: string, upload: Upload | undefined): [string, StoredFile][] =>
  upload === undefined ? [] : [[name, storedFile(upload)]];

/** Loads the code that stores files with the first submit that brings some. */
async function storeSent(
  { uploads, ...ports }: FilePorts,
  identity: Identity,
  { uploadId, sent }: { uploadId: string; sent: SentUpload },
): Promise<Upload> {
  if (uploads === undefined) throw new Error("files came with a submit of a deployment that stores none");
  const { storeFile } = await import("./uploads.ts");
  return storeFile({ ...ports, uploads }, identity, uploadId, sent);
}

async function takeUpload(ports: FilePorts, task: TaskKey, name: string, upload: Upload): Promise<Upload> {
  await ports.blobList.add(dayOf(ports.clock.now() + dayMs), { key: upload.key, ...keyOf(task) });
  if (await take(ports, task, upload)) {
    await releaseBytes(ports, upload);
    return upload;
  }
  throw fileProblem([{ path: `/files/${name}`, message: "another task has taken this upload" }]);
}

/** A repeat of the submit finds that the upload was taken. */
async function releaseBytes({ gate }: FilePorts, upload: Upload): Promise<void> {
  const { tenant_id, taken_by, counted_bytes: countedBytes, created_at } = upload;
  if (countedBytes === undefined || taken_by !== undefined) return;
  await gate?.takeUpload(tenant_id, { announcedAtMs: Date.parse(created_at), countedBytes });
}

const keyOf = ({ tenant_id, task_id }: TaskKey): TaskKey => ({ tenant_id, task_id });

/** A task that took an upload and died before its record was written leaves the upload to the next one. */
async function take({ uploads, records, clock }: FilePorts, task: TaskKey, upload: Upload): Promise<boolean> {
  const { tenant_id, upload_id } = upload;
  if (uploads === undefined) return false;
  if (await uploads.take(tenant_id, upload_id, task.task_id, undefined)) return true;
  const before = (await uploads.get(tenant_id, upload_id))?.taken_by;
  if (before === undefined) return false;
  const owner = await records.get({ tenant_id, task_id: before });
  if (owner !== undefined && isKept(owner, clock.now())) return false;
  return uploads.take(tenant_id, upload_id, task.task_id, before);
}

const storedFile = ({ key, content_type, size_bytes, file_name, sha256 }: Upload): StoredFile => ({
  key,
  content_type,
  size_bytes,
  ...(file_name === undefined ? {} : { file_name }),
  ...(sha256 === undefined ? {} : { sha256 }),
});
