import { realpathSync } from "node:fs";
import native, { type PlatformPath } from "node:path";
import { fileURLToPath } from "node:url";

/*
 * Paths of files with a slash between their parts, on Windows, too, which opens them as well. Code that compares paths,
 * or looks for parts of them, has them in this form only: a path of Node, of a library or of a user is brought into it
 * where it comes in.
 */

/** Functions of `node:path` whose paths have slashes. */
export interface SlashedPaths {
  /** Brings a path into this form. The letter of a drive is a capital, as programs write it in both ways. */
  slashed(path: string): string;
  join(...parts: string[]): string;
  resolve(...parts: string[]): string;
  relative(from: string, to: string): string;
  dirname(path: string): string;
  basename(path: string): string;
  extname(path: string): string;
  isAbsolute(path: string): boolean;
  /** The form that the machine's own programs write: with backslashes on Windows. */
  native(path: string): string;
  /** The top of the drive, or of the share, that a path is on. */
  topOf(path: string): string;
  /** Stands between the folders of `PATH`. */
  readonly delimiter: string;
}

/** @param platform `path.posix` or `path.win32` */
export function slashedPaths(platform: PlatformPath): SlashedPaths {
  // Elsewhere a backslash is a letter of a name.
  const isWindows = platform.sep === "\\";
  const slashed = (path: string) =>
    isWindows ? path.replaceAll("\\", "/").replace(/^[a-z]:/, (drive) => drive.toUpperCase()) : path;
  return {
    slashed,
    join: (...parts) => slashed(platform.join(...parts)),
    resolve: (...parts) => slashed(platform.resolve(...parts)),
    relative: (from, to) => slashed(platform.relative(from, to)),
    dirname: (path) => slashed(platform.dirname(path)),
    basename: (path) => platform.basename(path),
    extname: (path) => platform.extname(path),
    isAbsolute: (path) => platform.isAbsolute(path),
    native: (path) => (isWindows ? path.replaceAll("/", "\\") : path),
    topOf: (path) => slashed(platform.parse(path).root),
    delimiter: platform.delimiter,
  };
}

/** Paths of this machine. */
export const ownPaths = slashedPaths(native);

export const { slashed, join, resolve, relative, dirname, basename, extname, isAbsolute, topOf, delimiter } = ownPaths;

/** The real path of a file, without links. @throws Error when it does not exist */
export const realPath = (path: string): string => slashed(realpathSync(path));

/** The path of a `file:` URL. */
export const pathOfUrl = (url: string | URL): string => slashed(fileURLToPath(url));
