import { describe, expect, test } from "vitest";
import { sources } from "./sources.ts";

const shipped = sources().filter(({ path }) => /^(src|lib|lambdas|bin|console|tasks)\//.test(path));

/** Blocks, and lines of comments that follow each other. Comments behind code are not looked at. */
const comment = /^[ \t]*\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/[^\n]*(?:\n|$))+/gm;

/** The comments of a text, each as one line of words. */
const commentsIn = (text: string): string[] =>
  [...text.matchAll(comment)].map(([found]) =>
    found
      .replaceAll(/^[ \t]*(?:\/\*\*?|\*\/|\*|\/\/)[ \t]?|\*\/\s*$/gm, "")
      .replaceAll(/\s+/g, " ")
      .trim(),
  );

/** Words in place of a subject: what the sentence is about stands somewhere else, or nowhere. */
const withoutSubject = [
  /(?:^|[.!?] )(?:One (?:that|which|who|whose|with|without|in|behind|from)|Those|Such an?|Whoever|Whose|That one|This one)\b/,
  /\bones? (?:that|which|who|whose)\b/i,
  /\bsuch an?\b/i,
  /\bwhoever\b/i,
  /\bthose who\b/i,
];

/** A doc comment says what the thing is or does: it does not open like a question. */
const question = /^[ \t]*\/\*\*\s+(?:\* )?(?:What|Who|How|Whether|Why)\b.*/gm;

const faultsIn = (text: string): string[] => [
  ...commentsIn(text).filter((words) => withoutSubject.some((fault) => fault.test(words))),
  ...[...text.matchAll(question)].map(([found]) => found),
];

describe("comments", () => {
  test("name their subjects: the task, the message, the attempt", () => {
    expect(shipped.flatMap(({ path, text }) => faultsIn(text).map((words) => `${path}: ${words}`))).toEqual([]);
  });

  test.each([
    ["/** Lets tasks run. One that waits is given back. */", 1],
    ["/**\n * Sends the message. Those that are\n * late stay.\n */", 1],
    ["// A retry, or one\n// that comes late.\nrun();", 1],
    ["  // For whoever closes the family.", 1],
    ["/** Makes such a schedule. */", 1],
    ["/** What a worker sends. */", 1],
    ["/** One of the queues, such as `high`. A call that takes one place. */", 0],
    ['const text = "one that /** Those are"; // one that', 0],
  ])("%j has %i fault", (text, count) => {
    expect(faultsIn(text)).toHaveLength(count);
  });

  test("have lines of at most 120 characters, but for rows of tables, examples and the linter's", () => {
    const long = shipped.flatMap(({ path, text }) =>
      [...text.matchAll(comment)]
        .flatMap(([found]) => found.split("\n"))
        .filter((line) => line.length > 120 && !/^\s*(?:\*|\/\*\*|\/\/) (?:\||@example|@type |biome-ignore)/.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    );
    expect(long).toEqual([]);
  });
});
