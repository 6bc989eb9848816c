import { type FileOptions, largestFileBytes } from "../model/stored-file.ts";

/** Pattern of the names of a type's files. */
export const namePattern = /^[a-z][a-z0-9_]{0,63}$/;

/** Pattern of the media types that an option may have: `video/mp4`, or `video/*`. */
const mediaType = /^[a-z0-9][a-z0-9!#$&^_.+-]*\/(\*|[a-z0-9][a-z0-9!#$&^_.+-]*)$/;

/** Most files of one type. */
export const maxFiles = 20;

/** Returns the first fault of a type's option `files`. */
export function filesFault(files: Readonly<Record<string, FileOptions>>): string | undefined {
  const names = Object.keys(files);
  if (names.length > maxFiles) return `files may have at most ${maxFiles} names, got ${names.length}`;
  for (const [name, { contentTypes = [], maxBytes = 1 }] of Object.entries(files)) {
    if (!namePattern.test(name))
      return `files.${name}: a name must be 1 to 64 of a-z, 0-9 and '_', and begin with a letter`;
    const wrong = contentTypes.find((one) => !mediaType.test(one));
    if (wrong !== undefined) return `files.${name}.contentTypes must be media types such as video/*, got ${wrong}`;
    if (!Number.isInteger(maxBytes) || maxBytes < 1 || maxBytes > largestFileBytes) {
      return `files.${name}.maxBytes must be a whole number from 1 to ${largestFileBytes}, got ${maxBytes}`;
    }
  }
  return undefined;
}

/** True when a file of this media type is allowed. Parameters such as `charset` do not count. */
export function allowsContentType({ contentTypes }: FileOptions, contentType: string): boolean {
  const given = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  const fits = (allowed: string) =>
    allowed.endsWith("/*") ? given.startsWith(allowed.slice(0, -1)) : given === allowed;
  return contentTypes === undefined || contentTypes.some(fits);
}
