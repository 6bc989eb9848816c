import { addCounts, type Counts, noCounts } from "../model/counts.ts";
import { countsOf } from "../model/family-node.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Families } from "../ports/family.ts";
import { familyOf, leafOf } from "./child-results.ts";

interface CountPorts {
  families: Families;
}

/** Counts of a family as far as they are known: of full leaves, and of leaves that are not full. */
export async function presentCounts(ports: CountPorts, parent: TaskRecord): Promise<Counts> {
  if (parent.family_counts !== undefined) return parent.family_counts;
  if (parent.family_root === undefined) return countsOfOpenFamily(ports, parent);
  const root = await ports.families.read(parent, parent.family_root);
  if (root?.below === undefined) return root === undefined ? noCounts : countsOf(root);
  const open = root.below.filter((_, place) => root.ended[place] === undefined);
  const nodes = await Promise.all(open.map((name) => ports.families.read(parent, name)));
  return nodes.map((node) => (node === undefined ? noCounts : countsOf(node))).reduce(addCounts, countsOf(root));
}

/**
 * Leaves of a family that is not sealed which are read for its counts. The counts of the other leaves are missing
 * there.
 */
const mostOpenLeaves = 100;

/** Counts of a family whose handler still spawns, or sleeps. */
async function countsOfOpenFamily({ families }: CountPorts, parent: TaskRecord): Promise<Counts> {
  const pages = await families.pages(familyOf(parent), 0, mostOpenLeaves);
  const nodes = await Promise.all(pages.map(({ number }) => families.read(parent, leafOf(parent, number))));
  return nodes
    .map((node, index) => {
      const members = "1".repeat(pages[index]?.keys.length ?? 0);
      return countsOf({ ended: node?.ended ?? {}, members, round: parent.round });
    })
    .reduce(addCounts, noCounts);
}
