import { type ChildProcess, execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { call, packed, root } from "./packed.ts";

/** The commit that counts as the release before: the last tag; before the first tag, the commit that is noted. */
export function releaseBefore(): string {
  try {
    const tags = ["describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"];
    return execFileSync("git", tags, {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      timeout: 60_000,
    }).trim();
  } catch {
    return readFileSync(join(root, "test/two-releases/base"), "utf8").trim();
  }
}

/**
 * The sources of a commit, with its packages: those of this checkout where they are the same.
 * @param folder A folder that does not exist yet. Not below `node_modules`, where Node strips no types.
 */
export function checkedOut(commit: string, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 1024 ** 3, timeout: 300_000 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive, timeout: 300_000 });
  const [lock, present] = [folder, root].map((one) => readFileSync(join(one, "package-lock.json"), "utf8"));
  if (lock === present) symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  else call(folder, "npm", "ci", "--no-audit", "--no-fund");
  return folder;
}

/** A release that can be started. */
export interface Release {
  /** Working directory of its processes. */
  folder: string;
  /** The command, from there. */
  command: string;
  /** The process of a worker, from there. */
  worker: string;
  /** Folder of its task files. */
  tasks: string;
}

const tasks = join(root, "test/two-releases/tasks");

/** A release that runs from its sources. */
export const fromSources = (folder: string): Release => ({
  ...{ folder, command: "bin/offload.js", worker: "src/local/workers/worker-process.ts", tasks },
});

/**
 * A release as its users have it: packed, and installed in a project with a copy of the task files.
 * @param sources Folder of its sources.
 * @param project An empty folder.
 */
export function fromPackage(sources: string, project: string): Release {
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module", private: true }));
  call(project, "npm", "install", "--no-audit", "--no-fund", packed(sources, project), `zod@${zodVersion()}`);
  cpSync(tasks, join(project, "tasks"), { recursive: true });
  const own = "node_modules/offload";
  const worker = `${own}/dist/src/local/workers/worker-process.js`;
  return { folder: project, command: `${own}/bin/offload.js`, worker, tasks: join(project, "tasks") };
}

const zodVersion = (): string =>
  (JSON.parse(readFileSync(join(root, "node_modules/zod/package.json"), "utf8")) as { version: string }).version;

/** A local server of a release, on a state folder that releases share. */
export interface ReleaseServer {
  /** Everything that it has printed. */
  said(): string;
  stop(): Promise<void>;
}

export async function startRelease(
  { folder, command, tasks: OFFLOAD_TASKS }: Release,
  env: Record<string, string>,
): Promise<ReleaseServer> {
  const child = spawn(process.execPath, [command, "start"], {
    cwd: folder,
    env: { ...process.env, ...env, OFFLOAD_TASKS },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const output of [child.stdout, child.stderr]) {
    output.on("data", (data) => {
      said += data;
    });
  }
  const url = `http://127.0.0.1:${env.PORT}`;
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    if (answer?.ok) break;
    if (child.exitCode !== null || tries > 600) throw new Error(`the server of ${folder} did not start:\n${said}`);
    await sleep(200);
  }
  const stop = async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
  };
  return { said: () => said, stop };
}

interface Answer {
  kind: string;
  id?: number;
  error?: string;
  response?: { batchItemFailures?: { itemIdentifier: string }[] };
}

/** Events that workers of another release have met. */
export interface Met {
  messages: number;
  /** Batches that ended with an error. */
  thrown: string[];
}

const recordOf = (tier: string, message: Message) => ({
  messageId: message.MessageId,
  receiptHandle: message.ReceiptHandle,
  body: message.Body,
  attributes: message.Attributes ?? {},
  messageAttributes: Object.fromEntries(
    Object.entries(message.MessageAttributes ?? {}).map(([name, { StringValue, DataType }]) => [
      name,
      { stringValue: StringValue, dataType: DataType },
    ]),
  ),
  eventSource: "aws:sqs",
  eventSourceARN: `arn:aws:sqs:us-east-1:000000000000:offload-${tier}`,
  awsRegion: "us-east-1",
});

/**
 * Lets a worker of another release work beside those of the running server, on its table and queues, as in a rolling
 * deployment.
 * @param environment That of a worker of the server.
 */
export async function workBeside(
  { folder, worker: file, tasks: OFFLOAD_TASKS }: Release,
  tier: string,
  {
    environment,
    seconds,
    more,
  }: { environment: Record<string, string>; seconds: number; more: Record<string, string> },
): Promise<Met> {
  const { OFFLOAD_COMPILED_CODE: _, NODE_CHANNEL_FD: _fd, ...rest } = environment;
  const urls = JSON.parse(rest.OFFLOAD_QUEUE_URLS ?? "{}") as Record<string, string>;
  const queue = { QueueUrl: urls[tier] ?? "" };
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const sqs = new SQSClient({ region: "us-east-1", endpoint: new URL(queue.QueueUrl).origin, credentials });
  const worker = fork(join(folder, file), [], {
    cwd: folder,
    env: { ...rest, ...more, OFFLOAD_TIER: tier, OFFLOAD_TASKS },
    execArgv: ["--enable-source-maps"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const met: Met = { messages: 0, thrown: [] };
  const waiting = new Map<number, (answer: Answer) => void>();
  const ready = new Promise<void>((done, fail) => {
    worker.once("exit", (code) => fail(new Error(`the worker of ${folder} ended with ${code}`)));
    worker.on("message", (answer: Answer) => {
      if (answer.kind === "ready") done();
      else if (answer.kind === "answer" || answer.kind === "error") waiting.get(answer.id ?? 0)?.(answer);
    });
  });
  await ready;
  const untilMs = Date.now() + seconds * 1000;
  const batches: Promise<void>[] = [];
  for (let id = 1; Date.now() < untilMs; id++) {
    const asked = { ...queue, MaxNumberOfMessages: 10, WaitTimeSeconds: 1, VisibilityTimeout: 30 };
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ ...asked, AttributeNames: ["All"], MessageAttributeNames: ["All"] }),
    );
    if (Messages.length > 0) batches.push(workOn(id, Messages));
  }
  await Promise.all(batches);
  await ended(worker);
  sqs.destroy();
  return met;

  async function workOn(id: number, messages: Message[]): Promise<void> {
    met.messages += messages.length;
    const answered = new Promise<Answer>((done) => waiting.set(id, done));
    const Records = messages.map((message) => recordOf(tier, message));
    worker.send({ id, event: { Records }, deadlineMs: Date.now() + 900_000, aheadMs: 0 });
    const { kind, error = "", response } = await answered;
    if (kind === "error") met.thrown.push(error);
    const again = new Set(response?.batchItemFailures?.map(({ itemIdentifier }) => itemIdentifier));
    for (const { MessageId = "", ReceiptHandle } of messages) {
      const isDone = kind === "answer" && !again.has(MessageId);
      if (isDone) await sqs.send(new DeleteMessageCommand({ ...queue, ReceiptHandle }));
      // SQS makes it visible when its time is over, which is hours.
      else
        await sqs
          .send(new ChangeMessageVisibilityCommand({ ...queue, ReceiptHandle, VisibilityTimeout: 2 }))
          .catch(() => {});
    }
  }
}

async function ended(worker: ChildProcess): Promise<void> {
  worker.kill("SIGTERM");
  if (worker.exitCode === null && worker.signalCode === null) await once(worker, "exit");
}
