/**
 * Sentences that depend on the families of chains or on the table of operations: the description,
 * the client's types and the documents say what the code does.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { addressSpaceNames, families, titlesOfFamilies } from "../../chains/families.ts";
import { createDocument } from "../../gateway/openapi/document.ts";
import { operations } from "../../gateway/operations/operations.ts";
import { familyWords } from "../../gateway/operations/records.ts";
import { projectRoot } from "../../lab/kit/kit.ts";

const read = (path: string): string => readFileSync(join(projectRoot, path), "utf8");
/** Without line ends and marks of comments, so that a wrapped sentence can be compared. */
const flat = (text: string): string => text.replace(/\n\s*\*?\s*/g, " ");

const each = titlesOfFamilies(() => true).split(", ");

describe("sentences about families of chains", () => {
  it("the description says on which networks an order takes a tag, as the families read one", () => {
    const tagged = addressSpaceNames.filter(
      (name) => families[name].readTag("4294967295") !== null,
    );
    expect(tagged).toEqual(["xrp"]);
    for (const name of tagged) expect(families[name].readTag("4294967296")).toBeNull();
    const titles = titlesOfFamilies(({ addressSpace: { name } }) => tagged.includes(name));
    expect(familyWords.tag).toContain(`on ${titles} a whole number from 0 to 4294967295`);
    const { components } = createDocument({
      publicUrl: "https://pay.example.com",
      version: "0",
      operations,
    }) as {
      components: {
        schemas: Record<string, { properties: Record<string, { description: string }> }>;
      };
    };
    for (const order of ["WithdrawalOrder", "ManualOrder"]) {
      expect(components.schemas[order]?.properties.tag?.description).toBe(familyWords.tag);
      expect(components.schemas[order]?.properties.address?.description).toBe(familyWords.address);
    }
  });

  it("the client's types have the sentences of the description", () => {
    const types = flat(read("clients/typescript/orders.ts"));
    expect(types.split(familyWords.tag)).toHaveLength(3);
    expect(types.split(familyWords.address)).toHaveLength(3);
    expect(flat(read("clients/typescript/records.ts"))).toContain(familyWords.paymentUri);
  });

  it("glossary and operations name every family, and the glossary has the pin", () => {
    const glossary = read("docs/glossary.md");
    for (const title of each)
      expect(/^\| family \|.*$/m.exec(glossary)?.[0], title).toContain(title);
    expect(glossary).toMatch(/^\| pin \|/m);
    const pinned = titlesOfFamilies(({ exclusion }) => exclusion.kind === "pin").split(", ");
    for (const title of pinned)
      expect(/^\| pin \|.*$/m.exec(glossary)?.[0], title).toContain(title);
    const row = /^\| `chains\.NAME` \|.*$/m.exec(read("docs/operations.md"))?.[0] ?? "";
    for (const name of ["evm", "tron", "bitcoin", "litecoin", "xrp"])
      expect(row, name).toContain(`\`${name}\``);
  });

  it("docs/alerts.md names the chains on which no count shows another program's payment", () => {
    const uncounted = titlesOfFamilies(({ slots }) => !slots.isCounted).split(", ");
    expect(uncounted).toEqual(["Tron", "Bitcoin", "Litecoin"]);
    expect(flat(read("docs/alerts.md"))).toContain(
      "On Bitcoin, Litecoin and Tron the agent does not lock itself",
    );
  });

  it("the README counts the endpoints that there are", () => {
    expect(read("README.md")).toContain(`REST /api/v1, ${operations.length} endpoints`);
  });
});
