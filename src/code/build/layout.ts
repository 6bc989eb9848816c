import type { CopiedPackages } from "./choose.ts";
import { packageName, packageOf } from "./places.ts";
import type { TracedFiles } from "./trace.ts";

/** Places of the copied packages in the asset, by their folders. The bundle names the first place. */
export type Layout = ReadonlyMap<string, readonly string[]>;

/** Rounds of placing, at most: each adds places one level deeper. */
const mostRounds = 50;

/** Lays packages out flat, as npm does. Links, as pnpm makes them, do not survive an asset's archive. */
export function layoutOf(files: TracedFiles, packages: CopiedPackages): Layout {
  const at = new Map<string, string>();
  const places = new Map<string, string[]>();
  const put = (place: string, folder: string) => {
    at.set(place, folder);
    places.set(folder, [...(places.get(folder) ?? []), place]);
  };
  for (const folder of [...packages.keys()].sort(byDepth)) {
    const place = `node_modules/${packageName(folder)}`;
    if (!at.has(place)) put(place, folder);
  }
  const loads = loadsOf(files, packages);
  // A package that would find another version of what it loads gets the right one beside it.
  for (let round = 0, wrong = wrongIn(loads, places, at); round < mostRounds && wrong.length > 0; round++) {
    for (const { place, folder } of wrong) put(`${place}/node_modules/${packageName(folder)}`, folder);
    wrong = wrongIn(loads, places, at);
  }
  for (const folder of packages.keys()) {
    // A version that only the bundle loads.
    if (!places.has(folder)) put(`node_modules/.versions/${places.size}/node_modules/${packageName(folder)}`, folder);
  }
  return places;
}

/** Places of packages from which another package is not found, or in another version. */
const wrongIn = (
  loads: readonly [string, string][],
  places: ReadonlyMap<string, readonly string[]>,
  at: ReadonlyMap<string, string>,
): { place: string; folder: string }[] =>
  loads.flatMap(([parent, folder]) =>
    (places.get(parent) ?? [])
      .filter((place) => foundFrom(place, packageName(folder), at) !== folder)
      .map((place) => ({ place, folder })),
  );

const depthOf = (folder: string): number =>
  folder.split("/node_modules/").length + (folder.includes("/.pnpm/") ? 1 : 0);
const byDepth = (a: string, b: string): number => depthOf(a) - depthOf(b) || (a < b ? -1 : 1);

/** Pairs of packages of which the first loads the second. */
function loadsOf(files: TracedFiles, packages: CopiedPackages): [string, string][] {
  const pairs = new Map<string, [string, string]>();
  for (const [file, { parents }] of files) {
    const folder = packageOf(file);
    for (const parent of parents.map(packageOf)) {
      if (folder === undefined || parent === undefined || parent === folder) continue;
      if (packages.has(folder) && packages.has(parent)) pairs.set(`${parent}\n${folder}`, [parent, folder]);
    }
  }
  return [...pairs.values()];
}

/** The package that code at a place finds by a name, as Node looks for it. */
function foundFrom(place: string, name: string, at: ReadonlyMap<string, string>): string | undefined {
  for (let from = place; from.includes("/node_modules/"); from = from.slice(0, from.lastIndexOf("/node_modules/"))) {
    const found = at.get(`${from}/node_modules/${name}`);
    if (found !== undefined) return found;
  }
  return at.get(`${place.split("/node_modules/")[0]}/node_modules/${name}`) ?? at.get(`node_modules/${name}`);
}

/** The places of a file of a copied package. */
export function placesIn(layout: Layout, file: string): string[] {
  const folder = packageOf(file);
  return folder === undefined ? [] : (layout.get(folder) ?? []).map((place) => place + file.slice(folder.length));
}
