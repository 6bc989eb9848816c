import { type PlaceOf, type StackOf, stackText } from "../../core/model/stack.ts";
import { ownFolders } from "../../installed/installation.ts";
import { isAbsolute, pathOfUrl, relative, slashed } from "../../machine/paths.ts";

/**
 * Writes stacks with paths relative to the project's folder, without the frames of Node and of Offload. Node follows
 * the source maps of the built code, so the places are right as they are.
 */
export const sourceStackOf: StackOf = async (error) => stackText(error, placeInProject);

/** Place in the project's folder of a place in the code that runs. */
export const placeInProject: PlaceOf = ({ file, ...place }) => {
  if (file.startsWith("node:")) return undefined;
  // Source maps make URLs with one slash, too.
  const path = file.startsWith("file:") ? pathOfUrl(file) : slashed(file);
  if (ownFolders.some((folder) => path.startsWith(folder))) return undefined;
  const inProject = relative(process.cwd(), path);
  return { ...place, file: inProject.startsWith("..") || isAbsolute(inProject) ? path : inProject };
};
