import type { TypeList } from "../../../src/client/flow.ts";
import type { LetterGroups } from "../../../src/core/control/group-letters.ts";
import type { AlarmView } from "../../../src/core/control/metric-history.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import type { Loaded } from "../load.ts";
import { Failure, Section } from "../parts/layout.tsx";
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
}

/** Errors that are listed; the page has the others below. */
const mostErrors = 3;

const words: Record<Trouble["kind"], string> = {
  alarm: "Alarm",
  breaker: "Breaker open",
  failing: "Failing",
  retrying: "Tried again",
  paused: "Paused",
  full: "Full",
  waits: "Waiting",
  schedule: "Schedule",
};

/** Faults of now, and things that somebody has stopped. A source that cannot be read is named, and hides no other. */
export function Troubles({ alarms, types, queues, schedules, groups, retrying }: Sources) {
  const isAdmin = may("admin");
  const all: [name: string, of: Loaded<unknown>, troubles: Trouble[]][] = [
    ...(isAdmin ? [part("alarms", alarms, (value) => troublesOfAlarms(value.alarms))] : []),
    part("dead letters", groups, (value) => troublesOfGroups(value, now.value).slice(0, mostErrors)),
    part("tasks", retrying, (value) => troublesOfRetrying(value.tasks)),
    part("types", types, (value) => troublesOfTypes(value, tenantName.value)),
    ...(isAdmin ? [part("queues", queues, troublesOfQueues)] : []),
    part("schedules", schedules, (value) => troublesOfSchedules(value.schedules, types.value?.types, now.value)),
  ];
  const troubles = all.flatMap(([, , found]) => found);
  const errors = all.flatMap(([name, { error }]) => (error === undefined ? [] : [{ name, error }]));
  const isRead = all.every(([, { value }]) => value !== undefined);
  const isWhole = [groups, retrying, schedules].every(({ value }) => value?.complete !== false);
  return (
    <Section title={troubles.length === 0 ? "Now" : `Now: ${troubles.length} to look at`}>
      {errors.map(({ name, error }) => (
        <div key={name}>
          <p class="muted">The {name} could not be read:</p>
          <Failure error={error} />
        </div>
      ))}
      {troubles.length > 0 && (
        <ul class="troubles">
          {troubles.map((trouble) => (
            <TroubleLine key={`${trouble.kind} ${trouble.name} ${trouble.text}`} of={trouble} />
          ))}
        </ul>
      )}
      {troubles.length === 0 && isRead && (
        <p class="all-well">
          ✓ {isAdmin ? "No alarm, no" : "No"} open breaker, nothing paused, no schedule that fails or stands still, no
          permanent failure in the last hour, no task that waits for another attempt
          {isWhole ? "." : ", among what was read: there are more dead letters, tasks or schedules."}
        </p>
      )}
      {!isRead && errors.length === 0 && (
        <p class="muted" role="status">
          Loading …
        </p>
      )}
    </Section>
  );
}

const part = <T,>(
  name: string,
  of: Loaded<T>,
  find: (value: T) => Trouble[],
): [name: string, of: Loaded<unknown>, troubles: Trouble[]] => [name, of, of.value === undefined ? [] : find(of.value)];

function TroubleLine({ of }: { of: Trouble }) {
  const { kind, name, text, since, place } = of;
  const title = <Text of={name} most={128} />;
  return (
    <li class={kind}>
      <strong class="kind">{words[kind]}</strong>
      <span>
        {place === undefined || (place[0] === "queues" && !may("admin")) ? (
          <strong>{title}</strong>
        ) : (
          <a href={hrefOf(place, of)}>{title}</a>
        )}
        : <Text of={text} most={400} />
      </span>
      <span class="muted">{since !== null && <Time at={since} />}</span>
    </li>
  );
}
