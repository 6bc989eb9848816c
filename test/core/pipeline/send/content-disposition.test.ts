import { expect, test } from "vitest";
import { contentDisposition } from "../../../../src/util/content-disposition.ts";
import * as fc from "../../../support/fast-check.ts";

test.each([
  ["report.pdf", 'attachment; filename="report.pdf"'],
  ["Übersicht.pdf", "attachment; filename=\"_bersicht.pdf\"; filename*=UTF-8''%C3%9Cbersicht.pdf"],
  ["日本 🎈.txt", "attachment; filename=\"__ _.txt\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC%20%F0%9F%8E%88.txt"],
  ['a"b\\c.txt', 'attachment; filename="c.txt"'],
  ['a"; x="y', "attachment; filename=\"a_; x=_y\"; filename*=UTF-8''a%22%3B%20x%3D%22y"],
  ["50%.txt", "attachment; filename=\"50_.txt\"; filename*=UTF-8''50%25.txt"],
  ["it's (1)*.txt", 'attachment; filename="it\'s (1)*.txt"'],
  ["ä'(1)*", "attachment; filename=\"_'(1)*\"; filename*=UTF-8''%C3%A4%27%281%29%2A"],
  ["a\r\nset-cookie: x", 'attachment; filename="aset-cookie: x"'],
  ["../../etc/passwd", 'attachment; filename="passwd"'],
  ["..", 'attachment; filename="file"'],
  ["", 'attachment; filename="file"'],
  ["a/", 'attachment; filename="file"'],
  ["evil\u202egpj.exe", 'attachment; filename="evilgpj.exe"'],
])("the file name %j becomes %s", (name, header) => {
  expect(contentDisposition(name)).toBe(header);
});

test("a file can be shown instead of saved", () => {
  expect(contentDisposition("a.png", "inline")).toBe('inline; filename="a.png"');
});

test("no file name can leave its place in the header, and every name survives in UTF-8", () => {
  const form = /^attachment; filename="([^"\\%]*)"(?:; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~%-]+))?$/;
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (name) => {
      const header = contentDisposition(name);
      expect(header).toMatch(/^[\x20-\x7e]*$/);
      const [, ascii = "", encoded] = form.exec(header) ?? [];
      expect(ascii).not.toBe("");
      const decoded = encoded === undefined ? ascii : decodeURIComponent(encoded);
      expect(name.toWellFormed()).toContain(decoded === "file" ? "" : decoded.slice(0, 1));
    }),
  );
});
