/** One index to read: its partitions, the interval of its sort key, and filters on other attributes. */
export interface IndexRead {
  /** Undefined: the table itself. */
  index: string | undefined;
  /** Attribute of the partition key. */
  pk: string;
  /** Attribute of the sort key. */
  sk: string;
  partitions: readonly string[];
  /** Lower bound of the sort key, inclusive. Undefined: no bound. */
  after: string | undefined;
  /** Upper bound of the sort key, exclusive. Undefined: no bound. */
  before: string | undefined;
  filters: Record<string, string | undefined>;
  limit: number;
}

/**
 * The query of one partition. Sort keys are `<time>#<task id>`, so a time alone sorts before all entries of that time.
 */
export function indexQuery(read: IndexRead, partition: string) {
  const names: Record<string, string> = { "#pk": read.pk, "#sk": read.sk };
  const values: Record<string, unknown> = { ":pk": partition };
  const range = rangeOf(read, values);
  const filters: string[] = [];
  for (const [field, value] of Object.entries(read.filters)) {
    if (value === undefined) continue;
    names[`#${field}`] = field;
    values[`:${field}`] = value;
    filters.push(`#${field} = :${field}`);
  }
  return {
    ...(read.index !== undefined && { IndexName: read.index }),
    KeyConditionExpression: ["#pk = :pk", ...(range === undefined ? [] : [range])].join(" AND "),
    ExpressionAttributeNames: range === undefined ? omitSk(names) : names,
    ExpressionAttributeValues: values,
    ...(filters.length > 0 ? { FilterExpression: filters.join(" AND ") } : {}),
    ScanIndexForward: false,
    Limit: filters.length > 0 ? 100 : read.limit,
  };
}

const omitSk = ({ "#sk": _, ...names }: Record<string, string>) => names;

/** A key condition can have only one range, so two bounds become BETWEEN, with an upper bound just below `before`. */
function rangeOf(read: IndexRead, values: Record<string, unknown>): string | undefined {
  if (read.before === undefined && read.after === undefined) return undefined;
  if (read.after !== undefined) values[":after"] = read.after;
  if (read.before === undefined) return "#sk >= :after";
  if (read.after === undefined) {
    values[":before"] = read.before;
    return "#sk < :before";
  }
  values[":before"] = justBelow(read.before);
  return "#sk BETWEEN :after AND :before";
}

/**
 * A text that sorts before `text` and after every smaller sort key. Sort keys are ASCII: the last character is replaced
 * by its predecessor and `~`, the last printable character.
 */
const justBelow = (text: string): string =>
  `${text.slice(0, -1)}${String.fromCharCode(text.charCodeAt(text.length - 1) - 1)}~`;
