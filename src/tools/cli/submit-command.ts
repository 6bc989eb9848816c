import { uniqueModes } from "../../core/model/idempotency.ts";
import { tiers } from "../../core/model/words.ts";
import type { Answer } from "./answer.ts";
import { addTag, clientOf, connection, countTo, followerOf } from "./connection.ts";
import { follow, following } from "./follow-task.ts";
import type { Group, Register } from "./group.ts";
import { readInput } from "./json-input.ts";
import type { Options } from "./options.ts";
import { type Terminal, UsageError } from "./terminal.ts";
import { fields } from "./text-table.ts";
import { addFile, uploadFiles } from "./upload.ts";

export const examples = `
The input is JSON, @file with JSON, or - for the standard input; default: {}. Without --wait the command prints the task's id
and ends.

Exit codes with --wait: 0 completed; 1 failed, cancelled or expired; 124 the --timeout is over; 130 Ctrl-C. After the last
two the task continues.

With --from each line of a file is the input of a task: up to 500 are submitted in one request. If the command is
interrupted, call it again, and it continues: a file with .offload at the end of its name keeps the progress until all lines are done.
Exit codes: 0 every line was accepted; 1 a line was refused or is not JSON, or the command failed; 130 Ctrl-C.

Examples:
  npx offload submit link.check '{"url":"https://example.com"}' --wait
  npx offload submit report.daily @input.json --delay 3600 --tag order=4711
  npx offload submit invoice.generate - --wait --output invoice.pdf < order.json
  npx offload submit mail.send --from mails.ndjson --priority low
  npx offload submit video.cut --file video=talk.mp4
  npx offload submit index.rebuild --unique shop-7 --unique-mode debounce --wait-seconds 30
`;

export const submitting = [
  ["<type>", "task type"],
  ["[input]", "input of the task: JSON, @file, or - for the standard input; default: {}"],
  ["--input <json>", "the same, for who writes all as options"],
  ["--from <file>", "submit each line of this file as the input of a task; - is the standard input"],
  ["--wait", "wait for the end and print the result"],
  ["--priority <tier>", "tier of the task; default: the type's own", { among: tiers }],
  ["--delay <seconds>", "run no earlier than this many seconds from now", countTo(31_536_000, 0)],
  ["--run-at <time>", "run no earlier than this time (ISO 8601)"],
  [
    "--expires <seconds>",
    "expire when no attempt has started this long after the task is first due, 1 to 1209600",
    countTo(1_209_600),
  ],
  ["--max-attempts <n>", "maximum number of attempts, 1 to 20", countTo(20)],
  ["--tag <name=value>", "tag of the task; repeatable", addTag],
  ["--file <name=path>", "file of the task, or the id of its upload; repeatable", addFile],
  ["--idempotency-key <key>", "a repeat with the same key creates no second task"],
  ["--unique <key>", "key of the task among those of its type that have not ended"],
  ["--unique-mode <mode>", "effect when a task has the key; default: existing", { among: uniqueModes }],
  ["--wait-seconds <seconds>", "with --unique-mode debounce: wait after each submit", countTo(86_400)],
  ["--max-wait-seconds <seconds>", "with debounce: longest wait; default: ten times --wait-seconds", countTo(604_800)],
  ...following,
  ...connection,
] as const;

export type SubmitOptions = Options<typeof submitting>;

/** `offload submit` */
export const register: Register = (group) => addSubmit(group.help(examples));

/** Lets a command submit a task, and wait for its result. */
export function addSubmit(group: Group): void {
  group.does(submitting, (options, type, input) => submit(group.terminal, type, inputOf(input, options), options));
}

/** @throws UsageError */
export function inputOf(argument: string | undefined, { input }: SubmitOptions): string | undefined {
  if (argument !== undefined && input !== undefined)
    throw new UsageError("give the input once: as an argument or by --input");
  return argument ?? input;
}

/** @throws UsageError */
function uniqueOf({ unique: key, uniqueMode: mode, waitSeconds, maxWaitSeconds }: SubmitOptions) {
  if (key !== undefined) return { key, mode, waitSeconds, maxWaitSeconds };
  if (mode === undefined && waitSeconds === undefined && maxWaitSeconds === undefined) return undefined;
  throw new UsageError("--unique-mode, --wait-seconds and --max-wait-seconds need --unique");
}

export async function submit(
  terminal: Terminal,
  type: string,
  given: string | undefined,
  options: SubmitOptions,
): Promise<Answer | number> {
  const { wait, from, priority, delay: delaySeconds, runAt, expires: expiresInSeconds, maxAttempts } = options;
  const { tag: tags, idempotencyKey } = options;
  if (!wait && (options.timeout !== undefined || options.output !== undefined)) {
    throw new UsageError("--timeout and --output need --wait");
  }
  const when = { delaySeconds, runAt, expiresInSeconds };
  const wanted = { priority, ...when, maxAttempts, tags, idempotencyKey, unique: uniqueOf(options) };
  if (from !== undefined) {
    if (given !== undefined || wait) throw new UsageError("--from takes neither an input nor --wait");
    if (options.file !== undefined)
      throw new UsageError("--from does not take --file: each task needs its own uploads");
    const { submitFile } = await import("./submit-file.ts");
    return submitFile(terminal, type, from, wanted, options);
  }
  const client = clientOf(options);
  const input = await readInput(given ?? "{}", terminal);
  const files = options.file && (await uploadFiles(terminal, followerOf(options), options.file));
  const task = await client.submit(type, input, { ...wanted, files });
  if (wait) {
    terminal.note(`task ${task.task_id}`);
    return follow(terminal, followerOf(options), task.task_id, options);
  }
  const pollUrl = `${options.url.replace(/\/+$/, "")}${task.poll_url}`;
  const { task_id, status, collected } = task;
  const number = collected === undefined ? {} : { collected: String(collected) };
  const text = fields(Object.entries({ task_id, status, ...number, poll_url: pollUrl }), { terminal });
  return { json: task, text };
}
