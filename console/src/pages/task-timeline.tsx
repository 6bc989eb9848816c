import { useSignal } from "@preact/signals";
import type { AttemptView } from "../../../src/core/end/view.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { count, duration } from "../format.ts";
import type { IconName } from "../parts/icon.tsx";
import { Nothing, Section } from "../parts/layout.tsx";
import { now, Status, Text, Time } from "../parts/text.tsx";
import { setting } from "../signals.ts";
import { type Bar, longestMs, type Round, roundsOf } from "./task-rounds.ts";
import { Stack } from "./task-trouble.tsx";

/** Rounds that are shown at first: the newest ones. */
const roundsAtOnce = 5;

/** Attempts of a round that are shown at first: the newest ones. */
const attemptsAtOnce = 50;

/** Rounds and attempts with the waits between them. All rounds have the same scale, and each begins at the left. */
export function Timeline({ task, attempts }: { task: TaskView; attempts: readonly AttemptView[] }) {
  const all = useSignal(false);
  const rounds = roundsOf(task, attempts, Math.max(now.value, Date.parse(task.updated_at)));
  const shown = all.value ? rounds : rounds.slice(-roundsAtOnce);
  const scaleMs = longestMs(shown);
  const hidden = rounds.length - shown.length;
  return (
    <Section title="Attempts">
      {rounds.length === 0 && <Nothing>No attempt has started.</Nothing>}
      {hidden > 0 && (
        <button type="button" class="quiet" onClick={setting(all, true)}>
          {count(hidden)} earlier rounds
        </button>
      )}
      {shown.map((round) => (
        <RoundTable key={round.number} {...{ round, scaleMs, task }} isOnly={rounds.length === 1} />
      ))}
      {rounds.length > 0 && (
        <p class="note">
          The whole width is {duration(scaleMs)}. Light: the wait before an attempt; full: the attempt.
        </p>
      )}
    </Section>
  );
}

function RoundTable({
  round,
  scaleMs,
  task,
  isOnly,
}: {
  round: Round;
  scaleMs: number;
  task: TaskView;
  isOnly: boolean;
}) {
  const all = useSignal(false);
  const bars = all.value ? round.bars : round.bars.slice(-attemptsAtOnce);
  const name = `Attempts of round ${round.number}`;
  return (
    <>
      {!isOnly && (
        <h3>
          Round {round.number}, <Time at={round.startedAt} />
        </h3>
      )}
      {bars.length < round.bars.length && (
        <button type="button" class="quiet" onClick={setting(all, true)}>
          {count(round.bars.length - bars.length)} earlier attempts
        </button>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <section class="scroll" tabIndex={0} aria-label={name}>
        <table class="timeline">
          <thead>
            <tr>
              <th scope="col">Attempt</th>
              <th scope="col">Outcome</th>
              <th scope="col" class="number">
                Waited
              </th>
              <th scope="col" class="number">
                Ran
              </th>
              <th scope="col" class="track-head">
                Time
              </th>
            </tr>
          </thead>
          <tbody>
            {bars.map((bar) => (
              <AttemptRow key={`${bar.number} ${bar.startedAt}`} {...{ bar, scaleMs, task }} />
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}

/** Icon and word of an outcome. */
const marks: Readonly<Record<string, [IconName, string]>> = {
  running: ["processing", "runs"],
  waiting: ["pending", "waits"],
  completed: ["completed", "completed"],
  failed: ["failed", "failed"],
  retried: ["retrying", "retried"],
  crashed: ["failed", "crashed"],
  timed_out: ["failed", "timed out"],
  cancelled: ["cancelled", "cancelled"],
};

function statusOf(outcome: string): { of: string; word: string } {
  const [of, word] = marks[outcome] ?? ["open", outcome];
  return { of, word };
}

function AttemptRow({ bar, scaleMs, task }: { bar: Bar; scaleMs: number; task: TaskView }) {
  const { number, outcome, waitMs, runMs, startedAt, attempt } = bar;
  const isRunning = outcome === "running";
  return (
    <tr>
      <th scope="row">
        {number}
        {startedAt !== undefined && (
          <span class="muted">
            , <Time at={startedAt} />
          </span>
        )}
      </th>
      <td class="outcome">
        <Status {...statusOf(outcome)} />
        {isRunning && task.progress !== null && ` ${task.progress} %`}
      </td>
      <td class="number">{duration(waitMs)}</td>
      <td class="number">{runMs === undefined ? "–" : duration(runMs)}</td>
      <td>
        <Track {...{ bar, scaleMs }} />
        {attempt?.error != null && <AttemptError of={attempt} />}
      </td>
    </tr>
  );
}

const share = (ms: number, wholeMs: number): string => `${((100 * ms) / wholeMs).toFixed(3)}%`;

/** The numbers beside it say the same. */
const Track = ({ bar: { fromMs, waitMs, runMs, outcome }, scaleMs }: { bar: Bar; scaleMs: number }) => (
  <div class="track" aria-hidden="true">
    <span class="bar wait" style={{ left: share(fromMs, scaleMs), width: share(waitMs, scaleMs) }} />
    {runMs !== undefined && (
      <span class={`bar ${outcome}`} style={{ left: share(fromMs + waitMs, scaleMs), width: share(runMs, scaleMs) }} />
    )}
  </div>
);

function AttemptError({ of }: { of: AttemptView }) {
  const { error, error_kind, stack } = of;
  return (
    <>
      <p class="attempt-error">
        <code>{error_kind}</code> <Text of={error ?? ""} most={400} />
      </p>
      {stack && <Stack of={stack} />}
    </>
  );
}
