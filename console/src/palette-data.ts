import type { TaskView } from "../../src/core/model/task-view.ts";
import { isAddress } from "./pages/tasks-query.ts";
import { href } from "./route.ts";

/** A place to which the palette leads. */
export interface Choice {
  /** Unique in the list. */
  id: string;
  place: string;
  icon: string;
  /** In bold. */
  name: string;
  /** Beside the name. */
  about?: string;
  /** The task that was found. */
  task?: TaskView;
}

/** Choices below one heading. */
export interface Group {
  title: string;
  choices: readonly Choice[];
}

/** The knowledge of the palette that needs no request for each key. */
export interface Known {
  pages: readonly { path: string; title: string }[];
  types: readonly string[];
  /** True: it may submit, and create schedules. */
  mayChange: boolean;
  /** True: it has pages of types. */
  mayOperate: boolean;
  tenant: string | undefined;
}

const mostTypes = 5;

/** The place of each task keeps the tenant of its row, where the list is of all. */
export type PlaceOf = (steps: readonly string[], row: object) => string;

/** Characters from which on tasks are searched. */
export const leastSearched = 2;

/** The choices for a text. Enter opens the first one. */
export function choicesFor(text: string, known: Known, found: readonly TaskView[], placeOf: PlaceOf): Group[] {
  const lower = text.toLowerCase();
  const has = (name: string): boolean => name.toLowerCase().includes(lower);
  const groups: Group[] = [
    { title: `Tasks with ${text}`, choices: found.map((task) => ofTask(task, placeOf)) },
    { title: "Pages", choices: known.pages.filter(({ title }) => has(title)).map((page) => ofPage(page, known)) },
    { title: "Types", choices: text === "" ? [] : typesFor(known, has) },
    { title: "Do", choices: doesFor(text, known, has) },
  ];
  return groups.filter(({ choices }) => choices.length > 0);
}

const ofTask = (task: TaskView, placeOf: PlaceOf): Choice => ({
  id: `task-${task.task_id}`,
  place: placeOf(["tasks", task.task_id], task),
  icon: "tasks",
  name: task.type,
  about: Object.entries(task.tags)
    .map(([name, value]) => `${name} ${value}`)
    .join(", "),
  task,
});

const ofPage = ({ path, title }: Known["pages"][number], { tenant }: Known): Choice => ({
  id: `page-${path}`,
  place: href([path], { tenant }),
  icon: path,
  name: title,
});

const typesFor = ({ types, mayOperate, tenant }: Known, has: (name: string) => boolean): Choice[] =>
  types
    .filter((name) => mayOperate && has(name))
    .slice(0, mostTypes)
    .map((name) => ({ id: `type-${name}`, place: href(["types", name], { tenant }), icon: "types", name }));

function doesFor(text: string, known: Known, has: (name: string) => boolean): Choice[] {
  const { tenant, types, mayChange, mayOperate } = known;
  const submits = mayChange && text !== "" ? types.filter(has).slice(0, 2) : [];
  return [
    ...(isAddress(text)
      ? [
          {
            id: "key",
            place: href(["tasks", text], { tenant }),
            icon: "keys",
            name: `Open the task of the key ${text}`,
          },
        ]
      : []),
    ...(text.length >= leastSearched
      ? [
          {
            id: "all",
            place: href(["tasks"], { q: text, tenant }),
            icon: "tasks",
            name: `Show all tasks with “${text}”`,
          },
        ]
      : []),
    ...submits.map((type) => ({
      id: `submit-${type}`,
      place: href(["submit"], { type, tenant }),
      icon: "submit",
      name: `Submit ${type}`,
    })),
    ...(mayChange && mayOperate && has("New schedule")
      ? [{ id: "schedule", place: href(["schedules", "new"], { tenant }), icon: "schedules", name: "New schedule" }]
      : []),
  ];
}
