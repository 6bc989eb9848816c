import { posix, win32 } from "node:path";
import { describe, expect, test } from "vitest";
import { slashedPaths } from "../../src/machine/paths.ts";

const windows = slashedPaths(win32);
const others = slashedPaths(posix);

describe("paths of Windows", () => {
  test.each([
    ["C:\\Users\\me\\app\\tasks\\a.ts", "C:/Users/me/app/tasks/a.ts"],
    ["c:/Users\\me", "C:/Users/me"],
    ["\\\\server\\share\\app", "//server/share/app"],
    ["tasks\\a.ts", "tasks/a.ts"],
  ])("%s has slashes, and a capital letter for its drive", (path, expected) => {
    expect(windows.slashed(path)).toBe(expected);
    expect(windows.slashed(expected)).toBe(expected);
  });

  test("every function answers with slashes", () => {
    expect(windows.join("C:/app", "tasks", "..", "src")).toBe("C:/app/src");
    expect(windows.resolve("C:\\app", "..\\other")).toBe("C:/other");
    expect(windows.relative("c:\\app", "C:/app/src/a.ts")).toBe("src/a.ts");
    expect(windows.dirname("\\\\server\\share\\app\\a.ts")).toBe("//server/share/app");
    expect(windows.basename("C:/app/a.ts")).toBe("a.ts");
    expect(windows.topOf("C:/app/a.ts")).toBe("C:/");
    expect(windows.topOf("//server/share/app")).toBe("//server/share/");
  });

  test("a path of another drive, or of a share, is absolute; there is no way to it from here", () => {
    expect(windows.relative("C:/app", "D:/lib/a.ts")).toBe("D:/lib/a.ts");
    expect([windows.isAbsolute("D:/lib"), windows.isAbsolute("//server/share")]).toEqual([true, true]);
    expect(windows.isAbsolute("tasks/a.ts")).toBe(false);
  });

  test("programs of the machine get backslashes", () => {
    expect(windows.native("C:/Program Files/nodejs")).toBe("C:\\Program Files\\nodejs");
  });
});

test("elsewhere a backslash is a letter of a name", () => {
  expect(others.slashed("/a\\b/c")).toBe("/a\\b/c");
  expect(others.join("/a\\b", "c")).toBe("/a\\b/c");
  expect(others.native("/a/b")).toBe("/a/b");
  expect(others.topOf("/a/b")).toBe("/");
});
