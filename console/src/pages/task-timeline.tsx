import { type Signal, useSignal } from "@preact/signals";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import type { AttemptView } from "../../../src/core/pipeline/end/view.ts";
import { count, duration } from "../format.ts";
import { Icon, isIcon } from "../parts/icon.tsx";
import { Nothing, Section } from "../parts/layout.tsx";
import { now, Status, Text } from "../parts/text.tsx";
import { setting, toggling } from "../signals.ts";
import { type Axis, axisOf } from "./task-axis.ts";
import { Stack } from "./task-cause.tsx";
import { Lane, Ticks } from "./task-lane.tsx";
import type { Line, Told } from "./task-line.ts";
import { type Round, roundsOf } from "./task-rounds.ts";
import { linesOf, roundText, timesOf } from "./task-story.ts";

/** Earlier rounds that are listed at first: the newest ones. */
const roundsAtOnce = 5;

/** Parts of a task's story besides its attempts. Empty until they are read, and where the caller may not read them. */
export type Parts = Pick<Told, "steps" | "children" | "tries">;

/** All that happened to a task, on one axis, with long waits folded. Earlier rounds are one line each. */
export function Timeline({ task, attempts, ...parts }: Parts & { task: TaskView; attempts: readonly AttemptView[] }) {
  const all = useSignal(false);
  const folds = useSignal(true);
  const nowMs = Math.max(now.value, Date.parse(task.updated_at));
  const found = roundsOf(task, attempts, nowMs);
  const rounds = found.length > 0 ? found : notStarted(task);
  const earlier = rounds.slice(0, -1);
  const shown = all.value ? earlier : earlier.slice(-roundsAtOnce);
  const round = rounds.at(-1);
  if (round === undefined) {
    return (
      <Section title="What happened">
        <Nothing>No attempt has started.</Nothing>
      </Section>
    );
  }
  const told = { task, round, isLast: true, nowMs, ...parts };
  const { wholeMs, ranMs } = timesOf(task, linesOf(told, true).lines, nowMs);
  return (
    <Section
      title="What happened"
      actions={
        <>
          <span class="muted">
            {duration(wholeMs)}
            {ranMs > 0 && `, ${duration(ranMs)} of it in a worker`}
            {earlier.length > 0 && " in this round"}
          </span>
          <Scale folds={folds} />
        </>
      }
    >
      {earlier.length > shown.length && (
        <button type="button" class="quiet" onClick={setting(all, true)}>
          {count(earlier.length - shown.length)} earlier rounds
        </button>
      )}
      {shown.map((one) => (
        <EarlierRound key={one.number} round={one} folds={folds.value} {...{ task, nowMs }} />
      ))}
      <Story told={told} folds={folds.value} name={earlier.length === 0 ? "" : `Round ${round.number}`} />
    </Section>
  );
}

/** A task that has not started has a wait to show. */
const notStarted = ({ status, created_at: startedAt }: TaskView): Round[] =>
  status === "scheduled" ? [{ number: 1, startedAt, bars: [] }] : [];

const Scale = ({ folds }: { folds: Signal<boolean> }) => (
  <fieldset class="choices">
    <legend class="for-readers">Scale of the time</legend>
    <button type="button" aria-pressed={folds.value} onClick={setting(folds, true)}>
      Waits folded
    </button>
    <button type="button" aria-pressed={!folds.value} onClick={setting(folds, false)}>
      True time
    </button>
  </fieldset>
);

function EarlierRound({ task, round, folds, nowMs }: { task: TaskView; round: Round; folds: boolean; nowMs: number }) {
  const open = useSignal(false);
  const told = { task, round, isLast: false, nowMs, steps: [], children: [], tries: [] };
  return (
    <details class="round" onToggle={toggling(open)}>
      <summary>
        <Status of={round.bars.at(-1)?.outcome === "completed" ? "completed" : "failed"} word="" />
        <strong>Round {round.number}</strong> {roundText(round)}
      </summary>
      {open.value && <Story {...{ told, folds }} name={`Round ${round.number}`} />}
    </details>
  );
}

/** Instants of all bars, and the axis through them. */
function axisThrough(lines: readonly Line[], folds: boolean, nowMs: number, isOpen: boolean): Axis {
  const marks = lines.flatMap(({ marks }) => marks);
  return axisOf(isOpen ? [...marks, { fromMs: nowMs, toMs: nowMs, isWait: true }] : marks, folds);
}

function Story({ told, folds, name }: { told: Told; folds: boolean; name: string }) {
  const all = useSignal(false);
  const { lines, hidden } = linesOf(told, all.value);
  const { finished_at } = told.task;
  const isOpen = told.isLast && finished_at === null;
  const axis = axisThrough(lines, folds, told.nowMs, isOpen);
  const nowMs = isOpen ? told.nowMs : undefined;
  return (
    <>
      {hidden > 0 && (
        <button type="button" class="quiet" onClick={setting(all, true)}>
          {count(hidden)} more
        </button>
      )}
      <table class="story" aria-label={`What happened${name === "" ? "" : `, ${name}`}`}>
        <thead>
          <tr>
            <th scope="col">{name || <span class="for-readers">What</span>}</th>
            <th scope="col" class="lane">
              <span class="for-readers">When</span>
              <Ticks {...{ axis, lines, nowMs }} />
            </th>
            <th scope="col" class="number">
              Took
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <StoryRow key={line.key} {...{ line, axis, nowMs }} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function StoryRow({ line, axis, nowMs }: { line: Line; axis: Axis; nowMs: number | undefined }) {
  const { icon, name, about, isPart, isBad, took, attempt } = line;
  const open = useSignal(false);
  const words = (
    <>
      <Text of={name} most={100} />
      {about && (
        <span class={isBad ? "bad" : "muted"}>
          {" "}
          <Text of={about} most={120} />
        </span>
      )}
    </>
  );
  return (
    <>
      <tr class={isPart ? "piece" : undefined}>
        <th scope="row">
          {isIcon(icon) && <Icon of={icon} />}
          {attempt === undefined ? (
            <span class={isPart || icon === "retrying" ? undefined : "step-name"}>{words}</span>
          ) : (
            <button type="button" class="plain" aria-expanded={open.value} onClick={setting(open, !open.value)}>
              {words}
            </button>
          )}
        </th>
        <td class="lane">
          <Lane {...{ line, axis, nowMs }} />
        </td>
        <td class="number">{took}</td>
      </tr>
      {open.value && attempt !== undefined && (
        <tr class="why">
          <td colSpan={3}>
            <AttemptError of={attempt} />
          </td>
        </tr>
      )}
    </>
  );
}

function AttemptError({ of }: { of: AttemptView }) {
  const { error, error_kind, stack } = of;
  return (
    <>
      <p class="attempt-error">
        <code>{error_kind}</code> <Text of={error ?? ""} most={400} />
      </p>
      {stack && <Stack of={stack} isOpen />}
    </>
  );
}
