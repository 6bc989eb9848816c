import type { TypeList } from "../../../src/api/acts/views.ts";
import type { LetterGroups } from "../../../src/core/control/group-dead-letters.ts";
import type { AlarmView } from "../../../src/core/control/metric-history.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import type { Deployment } from "../../../src/core/schedules/ports.ts";
import type { Loaded } from "../load.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Failure, Loading } from "../parts/layout.tsx";
import { now, Text, Time } from "../parts/text.tsx";
import { hrefOf, may, tenantName } from "../session.ts";
import {
  type QueuesAnswer,
  type Trouble,
  troublesOfAlarms,
  troublesOfGroups,
  troublesOfQueues,
  troublesOfRetrying,
  troublesOfSchedules,
  troublesOfTypes,
} from "./overview-data.ts";
import type { SchedulesRead } from "./schedules-data.ts";

interface Sources {
  alarms: Loaded<{ alarms: AlarmView[] }>;
  types: Loaded<TypeList>;
  queues: Loaded<QueuesAnswer>;
  schedules: Loaded<SchedulesRead>;
  groups: Loaded<LetterGroups>;
  retrying: Loaded<{ tasks: TaskView[]; complete: boolean }>;
  last: Deployment | undefined;
}

/** Errors that are listed; the page has the others below. */
const mostErrors = 3;

/** Shape, word for readers of the screen, and the step that its button leads to. */
const kinds: Record<Trouble["kind"], [IconName, string, string]> = {
  alarm: ["warn", "Alarm", ""],
  breaker: ["breaker", "Breaker open", "See the type"],
  failing: ["failed", "Failing", "See the tasks"],
  retrying: ["retrying", "Tried again", "See the tasks"],
  paused: ["paused", "Paused", "See more"],
  full: ["warn", "Full", "See the tier"],
  waits: ["waiting", "Waiting", "See the type"],
  schedule: ["warn", "Schedule", "See the schedule"],
};

/** Faults of now, and things that somebody has stopped. */
interface Found {
  troubles: Trouble[];
  /** Sources that cannot be read. They hide no other. */
  errors: { name: string; error: Error }[];
  isRead: boolean;
  /** False: there is more than what was read. */
  isWhole: boolean;
}

export function troublesIn({ alarms, types, queues, schedules, groups, retrying, last }: Sources): Found {
  const isAdmin = may("admin");
  const all: [name: string, of: Loaded<unknown>, troubles: Trouble[]][] = [
    ...(isAdmin ? [part("alarms", alarms, (value) => troublesOfAlarms(value.alarms))] : []),
    part("dead letters", groups, (value) => troublesOfGroups(value, now.value, last).slice(0, mostErrors)),
    part("tasks", retrying, (value) => troublesOfRetrying(value.tasks)),
    part("types", types, (value) => troublesOfTypes(value, tenantName.value)),
    ...(isAdmin ? [part("queues", queues, troublesOfQueues)] : []),
    part("schedules", schedules, (value) => troublesOfSchedules(value.schedules, types.value?.types, now.value)),
  ];
  return {
    troubles: all.flatMap(([, , found]) => found),
    errors: all.flatMap(([name, { error }]) => (error === undefined ? [] : [{ name, error }])),
    isRead: all.every(([, { value }]) => value !== undefined),
    isWhole: [groups, retrying, schedules].every(({ value }) => value?.complete !== false),
  };
}

/** The troubles in words, each with its next step. */
export function Troubles({ of: { troubles, errors, isRead, isWhole } }: { of: Found }) {
  return (
    <section class="part">
      <div class="verdict">
        <h2>{verdictOf(troubles.length, isRead)}</h2>
        {troubles.length === 0 && isRead && (
          <p class="all-well">
            {may("admin") ? "No alarm, no" : "No"} open breaker, nothing paused, no schedule that fails or stands still,
            no task that failed for good in the last hour or waits for another attempt
            {isWhole ? "." : ", among what was read: there are more dead letters, tasks or schedules."}
          </p>
        )}
      </div>
      {errors.map(({ name, error }) => (
        <div key={name}>
          <p class="muted">The {name} could not be read:</p>
          <Failure error={error} />
        </div>
      ))}
      {troubles.length > 0 && (
        <ol class="troubles">
          {troubles.map((trouble) => (
            <TroubleLine key={`${trouble.kind} ${trouble.name} ${trouble.text} ${trouble.why}`} of={trouble} />
          ))}
        </ol>
      )}
      {!isRead && errors.length === 0 && <Loading />}
    </section>
  );
}

const verdictOf = (count: number, isRead: boolean): string => {
  if (count > 0) return `${count} ${count === 1 ? "thing needs" : "things need"} you`;
  return isRead ? "Nothing needs you" : "Now";
};

const part = <T,>(
  name: string,
  of: Loaded<T>,
  find: (value: T) => Trouble[],
): [name: string, of: Loaded<unknown>, troubles: Trouble[]] => [name, of, of.value === undefined ? [] : find(of.value)];

function TroubleLine({ of }: { of: Trouble }) {
  const { kind, name, text, why, since, place, query } = of;
  const [icon, word, step] = kinds[kind];
  const mayOpen = place !== undefined && (place[0] !== "queues" || may("admin"));
  const title = <Text of={name} most={128} />;
  return (
    <li>
      <Icon of={icon} />
      <div>
        <p class="say">
          <span class="for-readers kind">{word}</span>{" "}
          {mayOpen ? <a href={hrefOf(place, of, query)}>{title}</a> : <strong>{title}</strong>}:{" "}
          <Text of={text} most={400} />
        </p>
        {why !== undefined && (
          <p class="why">
            <code>
              <Text of={why} most={300} />
            </code>
          </p>
        )}
      </div>
      <span class="muted">{since !== null && <Time at={since} />}</span>
      {mayOpen && step !== "" && (
        <a class="button small" href={hrefOf(place, of, query)}>
          {step}
        </a>
      )}
    </li>
  );
}
