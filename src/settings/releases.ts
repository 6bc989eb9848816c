/**
 * All releases, in their order. A deployment goes from one to the next, or back to the one before. The last one is the
 * package's own version.
 */
export const releases: readonly string[] = ["0.1.0"];

/** The releases that are skipped by a deployment over another one. Undefined: the other one is not known here. */
export function skippedBetween(deployed: string, present: string): readonly string[] | undefined {
  const [from, to] = [releases.indexOf(deployed), releases.indexOf(present)];
  if (from < 0 || to < 0) return undefined;
  const [first, last] = from < to ? [from, to] : [to, from];
  return releases.slice(first + 1, last);
}

/** True for a release that comes after another one, by its number. */
export const isLaterRelease = (one: string, other: string): boolean =>
  one.localeCompare(other, "en", { numeric: true }) > 0;

/** The description of the function fire, by which `doctor --live` knows the deployed release. */
export const withRelease = (description: string): string => `${description} (Offload ${releases.at(-1)})`;

/** The release in a description. `unknown`: it names none. */
export const releaseIn = (description = ""): string => /\(Offload ([^)]+)\)$/.exec(description)?.[1] ?? "unknown";
