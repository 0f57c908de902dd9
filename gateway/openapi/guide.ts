/**
 * The chapters of /docs that OpenAPI has no place for: how a token is made, the stages of a record,
 * how a callback is verified, CSV and errors.
 */
import type { Language } from "../answer/language.ts";
import {
  callbackExample,
  callbackText,
  csvExample,
  errorExample,
  tokenScript,
  verifyScript,
} from "./examples.ts";
import { blockHtml, escapeHtml, proseHtml, tableHtml } from "./html.ts";
import { pageWords } from "./page-words.ts";
import { drawingOf, type Flow, stageRows } from "./stages.ts";

const listOf = (lines: readonly string[]): string =>
  `<ol>${lines.map((line) => `<li>${proseHtml(line)}</li>`).join("\n")}</ol>`;

/** The chapters in their order, each with an id that the contents name. */
export const guideChapters = ["token", "stages", "verify", "csv", "errors"] as const;
type Chapter = (typeof guideChapters)[number];

export function guideOf(language: Language, baseUrl: string): string {
  const words = pageWords[language];
  const [first = "", ...steps] = words.token;
  const flow = (name: Flow): string => {
    const [title, drawing] = words.flows[name];
    return `<figure><figcaption>${escapeHtml(title)}</figcaption>${drawingOf(name, drawing)}</figure>`;
  };
  const stagesOf = (name: Flow): string => {
    const [title] = words.flows[name];
    return `<h3>${escapeHtml(title)}</h3>${tableHtml(`${words.chapters.stages}: ${title}`, words.stageHeads, stageRows(name, language))}`;
  };
  const csvCommand = `curl -s "${baseUrl}/api/v1/transactions?limit=100" -H 'Accept: text/csv' -H "signatureToken: $(token)"`;
  const chapters: Readonly<Record<Chapter, string>> = {
    token: `<p>${proseHtml(first)}</p>${listOf(steps)}<p>${proseHtml(words.tokenTry)}</p>${blockHtml(words.chapters.token, tokenScript(baseUrl))}`,
    stages: `<p>${proseHtml(words.stages)}</p><div class="drawings">${flow("deposit")}${flow("withdrawal")}</div>${stagesOf("deposit")}${stagesOf("withdrawal")}`,
    verify: `${listOf(words.verify)}${blockHtml(words.chapters.verify, verifyScript)}<p>${proseHtml(words.verifyTry(callbackExample.secret))}</p>${blockHtml(words.groups.Callbacks ?? "", callbackText)}`,
    csv: `<p>${proseHtml(words.csv)}</p>${blockHtml(words.labels.command, csvCommand)}${blockHtml(words.labels.example, csvExample)}`,
    errors: `<p>${proseHtml(words.errors)}</p>${blockHtml(words.labels.example, JSON.stringify(errorExample, null, 2))}`,
  };
  return guideChapters
    .map(
      (chapter) =>
        `<h2 id="${chapter}">${escapeHtml(words.chapters[chapter])}</h2><section>${chapters[chapter]}</section>`,
    )
    .join("\n");
}
