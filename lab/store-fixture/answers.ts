/**
 * Writes the answers of this tree's gateway to the questions, from the fixture in a folder: `node
 * dist/lab/store-fixture/answers.js FOLDER [OTHERS]`. Without OTHERS the file is
 * FOLDER/answers.json, the answers of the tree that made the fixture. With OTHERS, only those that
 * differ from answers.json are written, to that file.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unpackFixture } from "./opened.ts";
import { type Answers, askAll } from "./questions.ts";

const textOf = (answers: Answers): string =>
  `${JSON.stringify(Object.fromEntries(answers), null, 1)}\n`;

async function write(folder: string, others: string | undefined): Promise<void> {
  const fixture = unpackFixture(folder);
  try {
    const answers = await askAll(fixture);
    const first = join(folder, "answers.json");
    if (others === undefined) {
      writeFileSync(first, textOf(answers));
      return;
    }
    const known = new Map(
      Object.entries(JSON.parse(readFileSync(first, "utf8")) as Record<string, readonly string[]>),
    );
    const isOther = ([question, lines]: readonly [string, readonly string[]]): boolean =>
      JSON.stringify(known.get(question)) !== JSON.stringify(lines);
    writeFileSync(others, textOf(new Map([...answers].filter(isOther))));
  } finally {
    fixture.remove();
  }
}

await write(process.argv[2] ?? join("test", "store-fixture"), process.argv[3]);
