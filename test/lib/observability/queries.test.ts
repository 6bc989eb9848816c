import { describe, expect, test } from "vitest";
import { queries } from "../../../lib/observability/queries.ts";
import { allOf, inService, stage } from "../synthesis.ts";

const dev = stage("dev");
const saved = allOf(dev.service, "AWS::Logs::QueryDefinition");

/** Fields that our lines have, beside CloudWatch's own, which begin with `@`. */
const fields = [
  ...[
    "task_id",
    "message_id",
    "tenant_id",
    "type",
    "tier",
    "attempt",
    "outcome",
    "status",
    "duration_ms",
    "queue_wait_ms",
  ],
  ...["error_kind", "error_type", "error", "correlation_id", "trace_id", "message"],
  ...[
    "schedule_id",
    "schedule",
    "scheduled_for",
    "trigger",
    "event_id",
    "children",
    "webhook_id",
    "host",
    "waiting_for",
  ],
  ...["line", "oldest_wait_ms", "breaker", "paused_since", "reason"],
];
const accessFields = ["status", "route", "integration_error", "error", "tenant_id"];

/** Words of the language, without its texts, patterns and given names. */
function wordsOf(query: string): string[] {
  const bare = query
    .replaceAll(/"[^"]*"/g, "")
    .replaceAll(/like \/.*?\/(?=\s|$)/g, "")
    .replaceAll(/\bas \w+/g, "");
  const given = [...query.matchAll(/\bas (\w+)/g)].map(([, name]) => name);
  const language =
    /^(fields|filter|stats|sort|limit|by|as|asc|desc|in|or|and|like|count|latest|max|sum|pct|ispresent|\d+|@\w+)$/;
  return (bare.match(/@?\w+/g) ?? []).filter((word) => !language.test(word) && !given.includes(word));
}

test("every query is saved, in the deployment's folder", () => {
  expect(saved.map((query) => query.get("Name")).sort()).toEqual(
    Object.keys(queries)
      .map((name) => `Offload-dev/${name}`)
      .sort(),
  );
});

describe.each(Object.entries(queries))("%s", (name, { lines, text }) => {
  const query = saved.find((one) => one.get("Name") === `Offload-dev/${name}`);

  test("the saved query is the text, a command a line", () => {
    expect(query?.get("QueryString")).toBe(text.join("\n| "));
    for (const command of text) expect(command).toMatch(/^(fields|filter|stats|sort|limit) /);
  });

  test("the query uses fields that the lines have", () => {
    const known: readonly string[] = lines === "access" ? accessFields : fields;
    expect(wordsOf(text.join(" ")).filter((word) => !known.includes(word))).toEqual([]);
  });

  test("the query has a limit", () => {
    expect(text.at(-1)).toMatch(/^limit \d+$/);
  });

  test(`the query reads the lines of ${lines}`, () => {
    const groups = query?.list<unknown>("LogGroupNames").map((group) => inService(dev, group)) ?? [];
    const all = allOf(dev.service, "AWS::Logs::LogGroup").map((group) => group.name);
    const expected = {
      access: ["Api/RequestLog"],
      attempts: all.filter((group) => /Worker|Redrive/.test(group)),
      functions: all.filter((group) => group !== "Api/RequestLog"),
    }[lines];
    expect(groups.sort()).toEqual(expected.sort());
  });
});

test("a field that no line has would be found", () => {
  expect(wordsOf('filter outcom = "failed"')).toEqual(["outcom"]);
});

test("the access log writes the fields that queries use", () => {
  const [log] = allOf(dev.service, "AWS::ApiGatewayV2::Stage");
  const format = JSON.parse(String(log?.get("AccessLogSettings.Format"))) as Record<string, string>;
  expect(accessFields.filter((field) => !(field in format))).toEqual([]);
});
