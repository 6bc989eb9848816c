import { createHash, randomUUID } from "node:crypto";
import type { ProblemError, SubmitManyOptions, SubmitOutcome } from "../../client/index.ts";
import { type Connection, clientOf } from "./connection.ts";
import { Checkpoint, chunksOf, type Line, lastLineOf, linesOf, type Progress } from "./input-file.ts";
import { jsonOf } from "./json-input.ts";
import { bar, CommandFailed, interrupted, plain, type Terminal, UsageError } from "./terminal.ts";

/**
 * Tries in a row in which no line is accepted: about two and a half minutes, within which a full queue gets shorter.
 */
const mostTries = 20;

/** Number of refused lines that are shown. */
const shownRefusals = 20;

/** Milliseconds between two reports of the progress. Each of them also saves it. */
const reportMs = 1_000;

/**
 * Submits each line of a file, or of the standard input, as the input of a task. Returns the exit code.
 * @param from The file; `-` is the standard input.
 * @throws UsageError, CommandFailed, ProblemError, ConnectionError
 */
export async function submitFile(
  terminal: Terminal,
  type: string,
  from: string,
  wanted: SubmitManyOptions,
  connection: Connection,
): Promise<number> {
  const client = clientOf(connection, mostTries);
  const { url, tenant } = connection;
  const checkpoint = from === "-" ? undefined : new Checkpoint(from, { type, url, tenant, ...wanted });
  const run = await FileRun.start(terminal, from, checkpoint, { ...wanted, json: connection.json });
  const release = terminal.onInterrupt(() => run.stop());
  try {
    const options = { ...wanted, ...run.place, signal: run.signal };
    for await (const outcome of client.submitMany(type, run.inputs(), options)) run.take(outcome);
  } catch (error) {
    if (!run.signal.aborted) throw error;
  } finally {
    release();
    run.end();
  }
  return run.exitCode;
}

interface InputFile {
  from: string;
  checkpoint: Checkpoint | undefined;
  /** Number of the last line. Undefined: not known before the end. */
  last: number | undefined;
  json: boolean | undefined;
}

/** The submit of one file: what is done of it. */
class FileRun {
  readonly #terminal: Terminal;
  readonly #file: InputFile;
  readonly #start: Progress;
  #now: Progress;
  /** Of the lines that are done. */
  readonly #hash = createHash("sha256");
  /** Lines that were given to the client, and have no outcome yet. */
  #open: Line[] = [];
  #isAtEnd = false;
  #isStopped = false;
  readonly #abort = new AbortController();
  #reportedAt = Date.now();

  private constructor(terminal: Terminal, file: InputFile, start: Progress) {
    this.#terminal = terminal;
    this.#file = file;
    this.#start = start;
    this.#now = { ...start };
  }

  /** @throws UsageError when the file cannot be read, or an earlier run had other options */
  static async start(
    terminal: Terminal,
    from: string,
    checkpoint: Checkpoint | undefined,
    { idempotencyKey = randomUUID(), json }: { idempotencyKey?: string | undefined; json?: boolean | undefined },
  ): Promise<FileRun> {
    const last = checkpoint === undefined ? undefined : await lastLineOf(chunksOf(from));
    const earlier = checkpoint?.load();
    const start = earlier ?? { idempotencyKey, lines: 0, accepted: 0, refused: 0, hash: "" };
    if (earlier !== undefined) {
      terminal.note(
        `Going on after line ${earlier.lines} of ${from}: ${checkpoint?.path} has an earlier run's progress.`,
      );
    }
    // Before the first request, so that another run has the same key.
    checkpoint?.save(start);
    return new FileRun(terminal, { from, checkpoint, last, json }, start);
  }

  /** Where the client begins. */
  get place(): SubmitManyOptions {
    const { idempotencyKey, accepted, refused } = this.#start;
    return { idempotencyKey, firstIndex: accepted + refused };
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The inputs that are not done. */
  async *inputs(): AsyncGenerator<unknown, void, undefined> {
    let isChecked = false;
    const check = () => {
      if (!isChecked) this.#checkDone();
      isChecked = true;
    };
    const chunks = this.#file.from === "-" ? this.#terminal.inputChunks() : chunksOf(this.#file.from);
    for await (const line of linesOf(chunks)) {
      if (line.number <= this.#start.lines) {
        this.#hash.update(line.bytes);
        continue;
      }
      check();
      if (this.#isStopped) return;
      const input = this.#inputOf(line);
      this.#open.push(line);
      yield input;
    }
    check();
    this.#isAtEnd = true;
  }

  /** @throws CommandFailed when the API accepts no more lines now */
  take({ task, error }: SubmitOutcome): void {
    const line = this.#open[0] as Line;
    if (error?.status === 429 || error?.status === 503) {
      throw new CommandFailed(`line ${line.number}: the API accepts no more tasks now: ${error.message}`);
    }
    this.#open.shift();
    this.#hash.update(line.bytes);
    this.#now.lines = line.number;
    if (error === undefined) this.#now.accepted += 1;
    else this.#refuse(line, error);
    if (this.#file.json) this.#terminal.out(JSON.stringify({ line: line.number, ...viewOf({ task, error }) }));
    // At the end of a request's lines: the client may have read one line of the next request.
    if (this.#open.length <= 1 && Date.now() - this.#reportedAt >= reportMs) this.#report();
  }

  /** Stops before the next request; called again: immediately. */
  stop(): void {
    if (this.#isStopped) this.#abort.abort();
    else this.#terminal.note("Stopping after the present request. Ctrl-C again stops immediately.");
    this.#isStopped = true;
  }

  /** Saves or deletes the progress, and prints what was done. */
  end(): void {
    const { lines, refused } = this.#now;
    this.#terminal.endProgress();
    if (refused - this.#start.refused > shownRefusals) {
      this.#terminal.note(`and ${refused - this.#start.refused - shownRefusals} more refused lines`);
    }
    if (this.#isDone) {
      this.#file.checkpoint?.delete();
      if (this.#file.json) this.#terminal.note(this.#counts);
      else this.#terminal.out(this.#counts);
      return;
    }
    this.#save();
    this.#terminal.note(`Stopped after line ${lines}: ${this.#counts}.`);
    if (this.#file.checkpoint === undefined) {
      this.#terminal.note("The standard input cannot be resumed: to go on, submit the lines after this one.");
    } else {
      this.#terminal.note(`The same command goes on from there; ${this.#file.checkpoint.path} has the progress.`);
    }
  }

  get exitCode(): number {
    if (!this.#isDone) return interrupted;
    return this.#now.refused === 0 ? 0 : 1;
  }

  get #isDone(): boolean {
    return this.#isAtEnd && this.#open.length === 0;
  }

  /** @throws CommandFailed */
  #inputOf({ number, bytes }: Line): unknown {
    const name = `${this.#file.from === "-" ? "standard input" : this.#file.from}, line ${number}`;
    try {
      return jsonOf(new TextDecoder("utf-8", { fatal: true }).decode(bytes), name);
    } catch (error) {
      const text = error instanceof UsageError ? error.message : `${name}: expected UTF-8`;
      throw new CommandFailed(`${text}. Correct this line`, { cause: error });
    }
  }

  /** @throws UsageError when the lines that are done are not those of the file */
  #checkDone(): void {
    if (this.#start.lines === 0 || this.#digest() === this.#start.hash) return;
    throw new UsageError(
      `the first ${this.#start.lines} lines of ${this.#file.from} have changed since they were submitted. Restore them, or delete ` +
        `${this.#file.checkpoint?.path} to submit the whole file as a new one`,
    );
  }

  #refuse(line: Line, error: ProblemError): void {
    this.#now.refused += 1;
    if (this.#now.refused - this.#start.refused > shownRefusals) return;
    const faults = error.errors.map(({ path, message }) => `${path || "/"} ${message}`).join("; ");
    this.#terminal.note(`line ${line.number}: ${plain(error.message)}${faults === "" ? "" : `: ${plain(faults)}`}`);
  }

  #report(): void {
    this.#reportedAt = Date.now();
    this.#save();
    const { lines } = this.#now;
    const isDrawn = this.#terminal.live && this.#file.last !== undefined && this.#file.last > 0;
    const drawn = isDrawn ? `${bar(Math.floor((100 * lines) / (this.#file.last as number)))}  ` : "";
    this.#terminal.progress(
      `${drawn}${lines}${this.#file.last === undefined ? "" : ` of ${this.#file.last}`} lines: ${this.#counts}`,
    );
  }

  get #counts(): string {
    const { accepted, refused } = this.#now;
    return `${accepted} accepted, ${refused} refused`;
  }

  #save(): void {
    if (this.#now.lines > this.#start.lines) this.#now.hash = this.#digest();
    this.#file.checkpoint?.save(this.#now);
  }

  #digest = (): string => this.#hash.copy().digest("hex");
}

/** An outcome in the output of `--json`. */
function viewOf({ task, error }: Pick<SubmitOutcome, "task" | "error">): object {
  if (error === undefined) return { task };
  const { status, code, detail, errors, correlationId: correlation_id } = error;
  return { error: { code, status, detail, ...(errors.length > 0 && { errors }), correlation_id } };
}
