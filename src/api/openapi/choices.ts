import { type Json, refTo } from "./json-schema.ts";

/** Words for the forms of a selection of tasks, and of a schedule's rule, by the field that only this form has. */
const selection = { task_ids: "ByIds", filter: "ByFilter" };
const rule = { cron: "ByCron", every_seconds: "ByInterval" };

/** Fields of which a request has exactly one, by schema. */
const choices: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  NewSchedule: rule,
  ScheduleDefinition: rule,
  SchedulePreview: rule,
  CancelTasks: selection,
  RunTasksNow: selection,
  RetryTasks: selection,
  Replay: selection,
  Discard: selection,
};

/** Fields of a request that exclude each other, by schema. A field that is null counts as absent. */
const exclusive: Readonly<Record<string, readonly [string, string]>> = {
  Submit: ["delay_seconds", "run_at"],
  ScheduleChange: ["cron", "every_seconds"],
};

/**
 * Adds to a request's schema which fields exclude each other. Where exactly one must be given, each has a whole schema
 * with a name: of alternatives beside common fields, or without a name, generators make a class without the choice, or
 * none at all.
 * @returns The schema by its name, and the schemas that it names.
 */
export function withChoice(name: string, schema: Json): Record<string, Json> {
  const choice = choices[name];
  if (choice === undefined) return { [name]: { ...schema, ...notBoth(exclusive[name]) } };
  const fields = Object.keys(choice);
  const forms = fields.map((field) => {
    const others = fields.filter((other) => other !== field);
    return [`${name}${choice[field]}`, formOf(schema, field, others)] as const;
  });
  return { [name]: { oneOf: forms.map(([id]) => refTo(id)) }, ...Object.fromEntries(forms) };
}

/** The form of a request that has one field and not the others. */
function formOf({ properties = {}, required = [], ...rest }: Json, field: string, others: readonly string[]): Json {
  const given = Object.entries(properties as Readonly<Record<string, Json>>).flatMap(([name, one]) => {
    if (name === field) return [[name, withoutNull(one)]];
    if (!others.includes(name)) return [[name, one]];
    return isNullable(one) ? [[name, { type: "null" }]] : [];
  });
  return { ...rest, properties: Object.fromEntries(given), required: [...(required as string[]), field] };
}

const isNull = ({ type }: Json): boolean => type === "null";
const optionsOf = ({ anyOf = [] }: Json): Json[] => anyOf as Json[];
const isNullable = (schema: Json): boolean => optionsOf(schema).some(isNull);

function withoutNull(schema: Json): Json {
  if (!isNullable(schema)) return schema;
  const { anyOf: _, ...texts } = schema;
  const [only = {}, ...more] = optionsOf(schema).filter((option) => !isNull(option));
  return more.length === 0 ? { ...only, ...texts } : { ...texts, anyOf: [only, ...more] };
}

function notBoth(fields: readonly [string, string] | undefined): Json {
  if (fields === undefined) return {};
  const present = fields.map((name) => [name, { not: { type: "null" } }]);
  return { not: { required: fields, properties: Object.fromEntries(present) } };
}
