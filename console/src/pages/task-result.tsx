import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Download, download } from "../../../src/client/files.ts";
import { fileParts } from "../../../src/client/late-parts.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { bytes, visible } from "../format.ts";
import { useLoad } from "../load.ts";
import { Curl } from "../parts/curl.tsx";
import { Json } from "../parts/json.tsx";
import { Facts, Failure, Nothing, Section } from "../parts/layout.tsx";
import { Text } from "../parts/text.tsx";
import { tenant, transport } from "../session.ts";
import { taskPath } from "./task-data.ts";

/** Largest JSON that the page reads and shows, in bytes. Larger results can only be saved. */
const largestShownBytes = 20 * 1024 * 1024;

/** The result of a completed task. */
export function Result({ task }: { task: TaskView }) {
  if (task.status !== "completed") return null;
  return (
    <Section title="Result">
      {task.outcome !== null && <Facts of={[["Outcome", <Text key="outcome" of={task.outcome} />]]} />}
      {task.result_url === null ? (
        <Json of={task.result} label="Result" />
      ) : (
        <Stored key={task.finished_at} task={task} />
      )}
    </Section>
  );
}

type Known = Pick<Download, "name" | "type" | "size">;

/** Opens the result for its name, type and size only. The bytes are read when somebody asks for them. */
async function factsOf(taskId: string, signal: AbortSignal): Promise<Known> {
  const { name, type, size, body } = await open(taskId, { signal });
  await body.cancel().catch(() => {});
  return { name, type, size };
}

const open = (taskId: string, options: Parameters<typeof download>[3] = {}): Promise<Download> =>
  download(fileParts, transport(), taskPath(taskId, "/result"), options);

/** A result that the task itself does not contain: a file, large JSON, or a result that only its requester can read. */
function Stored({ task: { task_id: taskId } }: { task: TaskView }) {
  const facts = useLoad(`result ${taskId} ${tenant.value}`, (signal) => factsOf(taskId, signal));
  const shown = useSignal<{ value: unknown } | undefined>(undefined);
  if (facts.value === undefined) return <Unread taskId={taskId} error={facts.error} />;
  const { name, type, size } = facts.value;
  const isJson = /^application\/json\b/.test(type);
  const isEncrypted = /^application\/jose\b/.test(type);
  return (
    <>
      <Facts
        of={[
          ["Name", <Text key="name" of={name} most={200} />],
          ["Type", <Text key="type" of={type} most={100} />],
          size !== undefined && ["Size", bytes(size)],
        ]}
      />
      {isEncrypted && (
        <Nothing>It is encrypted. Only the owner of the key that was given with the task can read it.</Nothing>
      )}
      <Buttons {...{ taskId, facts: facts.value, shown }} mayShow={isJson && (size ?? 0) <= largestShownBytes} />
      {shown.value !== undefined && <Json of={shown.value.value} label="Result" />}
      <Curl of={{ path: taskPath(taskId, "/result") }} />
    </>
  );
}

function Unread({ taskId, error }: { taskId: string; error: Error | undefined }) {
  if (error === undefined) return <p role="status">Reading …</p>;
  return (
    <>
      <Failure error={error} />
      <p class="muted">The request below, with the option -L, reads it where this page cannot.</p>
      <Curl of={{ path: taskPath(taskId, "/result") }} />
    </>
  );
}

function Buttons({
  taskId,
  facts,
  shown,
  mayShow,
}: {
  taskId: string;
  facts: Known;
  shown: Signal<{ value: unknown } | undefined>;
  mayShow: boolean;
}) {
  const read = useSignal<number | undefined>(undefined);
  const error = useSignal<Error | undefined>(undefined);
  const stop = useSignal<AbortController | undefined>(undefined);
  useEffect(() => () => stop.value?.abort(), []);
  const run = async (use: (result: Download) => Promise<void>) => {
    const ended = new AbortController();
    stop.value = ended;
    error.value = undefined;
    read.value = 0;
    const onProgress = (progress: { bytes: number }) => {
      read.value = progress.bytes;
    };
    try {
      await use(await open(taskId, { signal: ended.signal, onProgress }));
    } catch (thrown) {
      if (!ended.signal.aborted) error.value = thrown as Error;
    }
    read.value = undefined;
  };
  const show = () =>
    run(async (result) => {
      shown.value = { value: await result.json() };
    });
  const save = () => run(async (result) => saveAs(await result.blob(), fileName(facts)));
  return (
    <>
      {error.value !== undefined && <Failure error={error.value} />}
      <div class="actions">
        {mayShow && shown.value === undefined && (
          <button type="button" disabled={read.value !== undefined} onClick={show}>
            Show
          </button>
        )}
        <button type="button" disabled={read.value !== undefined} onClick={save}>
          Save as a file
        </button>
        {read.value !== undefined && (
          <>
            <span role="status">{bytes(read.value)} read</span>
            <button type="button" class="quiet" onClick={() => stop.value?.abort()}>
              Stop
            </button>
          </>
        )}
      </div>
    </>
  );
}

/** A name for the disk: nothing in it is a folder, and nothing invisible. */
function fileName({ name, type }: Known): string {
  const clean = visible(name)
    .replaceAll(/[\\/:*?"<>|]/g, "_")
    .slice(0, 200);
  return name === "result" && /^application\/json\b/.test(type) ? "result.json" : clean;
}

/** Saves bytes as the browser saves a download. They are never opened in the page, whatever their type is. */
function saveAs(blob: Blob, name: string): void {
  const url = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
