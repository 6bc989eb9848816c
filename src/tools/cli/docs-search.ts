import type { Section } from "./docs-pages.ts";

/*
 * A full-text search over the sections of the documentation: BM25, in which a word of a heading counts more than one
 * of the text. It needs no library, which every project that installs Offload would install, too.
 */

/** Counts of one word, by its place. */
const weights = { heading: 5, title: 3, words: 3, text: 1 };
/** BM25's constants: how soon more occurrences count less, and how much long sections lose. */
const saturation = 1.4;
const lengthShare = 0.6;
/** Share of the score that a section of a generated page keeps. */
const generatedShare = 0.3;
/** Share that a section of a reference keeps: it has every word many times, and the guides are read before it. */
const referenceShare = 0.6;

/** True for the page of a reference, by its path. */
const isReference = (page: string): boolean => /^\/?(?:api-|runbook|performance|emulator)/.test(page);

/** Words that every text has. */
export const emptyWords: ReadonlySet<string> = new Set(
  "a about am an and another any are as at be been being best but by can cannot could did do does doing for from get gets getting go goes going got had happen happened happening happens has have having how i if in instead into is it its just let like look make makes making may me might mine my need needed needs of on one or our please possible see shall should so some still than that the their them then there these they this those to too try us use used uses using want wants was way we were what when where whether which while who why will with within would you your".split(
    " ",
  ),
);

/** Stems of other systems' words, and of our words for the same things. The site's search has the same ones. */
export const synonyms: ReadonlyMap<string, string> = new Map([
  ["job", "task"],
  ["payload", "input"],
  ["argument", "input"],
  ["abort", "cancel"],
  ["crontab", "cron"],
  ["fifo", "order"],
  ["sequential", "order"],
  ["dedup", "duplicat"],
  ["deduplication", "duplicat"],
  ["deduplicat", "duplicat"],
  ["redriv", "replay"],
  ["reproces", "replay"],
  ["resubmit", "replay"],
  ["requeu", "replay"],
  ["throttl", "limit"],
  ["bulk", "many"],
  ["children", "child"],
  ["subtask", "child"],
  ["notify", "tell"],
  ["recur", "schedul"],
]);

/** The stem of an English word, roughly: equal for the forms of a word that people search by. */
export function stemOf(word: string): string {
  if (word.length < 4 || /\d|_/.test(word)) return word;
  const plain = word.replace(/(?:ies|ied)$/, "y").replace(/([^su])s$/, "$1");
  const root = plain.replace(/(?:ing|ed)$/, "");
  return (root.length > 2 ? root : plain).replace(/([bdglmnprt])\1$/, "$1").replace(/e$/, "");
}

/** The words of a text, without the words that every text has. `rateLimit` is two words. */
export const wordsOf = (text: string): string[] =>
  (
    text
      .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .match(/[\p{L}\p{N}_]+/gu) ?? []
  )
    .filter((word) => !emptyWords.has(word))
    .map(stemOf)
    .map((stem) => synonyms.get(stem) ?? stem);

interface Entry {
  section: Section;
  counts: Map<string, number>;
  length: number;
}

function entryOf(section: Section): Entry {
  const counts = new Map<string, number>();
  const add = (text: string, weight: number): number => {
    const words = wordsOf(text);
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + weight);
    return words.length;
  };
  add(section.heading, weights.heading);
  add(section.page.title, section.anchor === "" ? weights.title : weights.title / 3);
  if (section.anchor === "") add(section.page.words ?? "", weights.words);
  return { section, counts, length: add(section.text, weights.text) };
}

/** Returns a search in these sections: it returns those that have words of a query, best first. */
export function searchIn(sections: readonly Section[]): (query: string) => Section[] {
  const entries = sections.map(entryOf);
  const meanLength = entries.reduce((sum, { length }) => sum + length, 0) / Math.max(1, entries.length);
  return (query) => {
    const asked = [...new Set(wordsOf(query))];
    const rarity = new Map(asked.map((word) => [word, rarityOf(word, entries)]));
    const scoreOf = ({ section, counts, length }: Entry): number => {
      const norm = saturation * (1 - lengthShare + (lengthShare * length) / meanLength);
      const parts = asked.map((word) => {
        const count = counts.get(word) ?? 0;
        return ((rarity.get(word) ?? 0) * count * (saturation + 1)) / (count + norm);
      });
      const found = parts.filter((part) => part > 0).length;
      const sum = parts.reduce((total, part) => total + part, 0);
      return sum * (found / asked.length) * shareOf(section.page);
    };
    return entries
      .map((entry) => ({ section: entry.section, score: scoreOf(entry) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .map(({ section }) => section);
  };
}

function shareOf({ page, generated }: Section["page"]): number {
  if (generated === true) return generatedShare;
  return isReference(page) ? referenceShare : 1;
}

function rarityOf(word: string, entries: readonly Entry[]): number {
  const having = entries.filter(({ counts }) => counts.has(word)).length;
  return Math.log(1 + (entries.length - having + 0.5) / (having + 0.5));
}
