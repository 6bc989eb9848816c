import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Golden, goldenReleases, presentForms, readAgain, readGoldens } from "../support/golden.ts";

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8")) as {
  version: string;
};

const releases = goldenReleases();
const [first = ""] = releases;
const isEarlier = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true }) < 0;

describe.each(releases)("the forms that release %s writes", (release) => {
  const forms = Object.entries(readGoldens(release)).filter(([, { read }]) => read !== undefined);

  test.each(forms)("%s is read by the present release, as it was then", async (name, golden) => {
    const again = await readAgain(name, golden);
    expect(again, `no reader is named ${name}`).toBeDefined();
    expect(again).toEqual(golden.read);
  });
});

describe("the forms that this commit writes", () => {
  const noted = readGoldens(version);
  let present: Awaited<ReturnType<typeof presentForms>>;
  beforeAll(async () => {
    present = await presentForms();
  });

  test("are all noted in the file of its release", () => {
    expect(Object.keys(noted).sort()).toEqual(Object.keys(present).sort());
  });

  test.each(Object.entries(noted))(
    "%s is written as noted. If not: the release before must read it; `npm run golden` notes that (docs/stored-forms.md)",
    (name, { written }) => {
      expect(present[name]?.written).toEqual(written);
    },
  );

  test.each(Object.entries(noted))("%s is read by a release before the first that writes it", (name, golden) => {
    expect(isBeforeWriter(name, golden)).toBe(true);
  });

  /** Nothing binds the first release: no earlier one has left anything. */
  const isBeforeWriter = (name: string, { read_since, written }: Golden): boolean => {
    const same = releases.filter((one) => JSON.stringify(readGoldens(one)[name]?.written) === JSON.stringify(written));
    const [writer = version] = same;
    return writer === first ? read_since === first : isEarlier(read_since, writer);
  };
});
