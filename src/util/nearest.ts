import { distance } from "fastest-levenshtein";

/** Names that are suggested for an unknown one. */
const mostSuggestions = 3;

/**
 * Returns the names that a misspelt name may mean, the nearest first, at most three: those that differ in at most a
 * third of the characters, and those of which it is a part, or that are a part of it.
 */
export function nearestNames(given: string, names: Iterable<string>): string[] {
  // The comparison takes time that grows with both lengths, and a client sends any text.
  const text = given.slice(0, 100).toLowerCase();
  return [...names]
    .map((name) => ({ name, far: distance(text, name) }))
    .filter(
      ({ name, far }) => far <= name.length / 3 || (text.length > 2 && (name.includes(text) || text.includes(name))),
    )
    .sort((one, other) => one.far - other.far || (one.name < other.name ? -1 : 1))
    .slice(0, mostSuggestions)
    .map(({ name }) => name);
}
