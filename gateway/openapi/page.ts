/**
 * The page at /docs: the OpenAPI document for people, as one HTML text without any script. All text
 * from the document is escaped; the page loads only its style sheet.
 */
import type { Language } from "../answer/language.ts";
import { answerCodes } from "../answer/messages.ts";
import {
  answerExamples,
  callbackExample,
  callbackText,
  csvExample,
  errorExample,
  tokenScript,
  verifyScript,
} from "./examples.ts";
import { type PageWords, pageWords } from "./page-words.ts";

/* Pieces of HTML, whose every text is escaped. */

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => escapes[character] ?? "");

/** Text in which `words` are code. */
const proseHtml = (text: string): string =>
  escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");

const codeHtml = (text: string): string => `<code>${escapeHtml(text)}</code>`;

/** A block of code. It may scroll, so the keyboard reaches it; `label` names it. */
const blockHtml = (label: string, text: string): string =>
  `<pre tabindex="0" role="region" aria-label="${escapeHtml(label)}"><code>${escapeHtml(text)}</code></pre>`;

/** A table whose cells are HTML already; "" without rows. */
function tableHtml(
  label: string,
  heads: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  if (rows.length === 0) return "";
  const head = heads.map((text) => `<th scope="col">${escapeHtml(text)}</th>`).join("");
  const body = rows
    .map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`)
    .join("\n");
  return `<div class="wide" tabindex="0" role="region" aria-label="${escapeHtml(label)}"><table><thead><tr>${head}</tr></thead>
<tbody>${body}</tbody></table></div>`;
}

/*
 * The chapters of /docs that OpenAPI has no place for: how a token is made, the stages of a record,
 * how a callback is verified, CSV and errors.
 */

/*
 * The stages of a record, which OpenAPI cannot draw: each with its status and meaning, and a
 * drawing of the ways between them as inline SVG. Source: docs/api.md, One transaction.
 */

export interface Stage {
  readonly name: string;
  readonly status: 0 | 1 | 2;
  readonly at: readonly [column: 0 | 1, row: number]; // its place in the drawing
  readonly means: Readonly<Record<Language, string>>;
}

const deposit: readonly Stage[] = [
  {
    name: "waiting",
    status: 0,
    at: [0, 0],
    means: { en: "nothing was seen", tr: "ödeme görülmedi" },
  },
  {
    name: "unconfirmed",
    status: 0,
    at: [1, 0],
    means: {
      en: "nodes show a payment that no block has",
      tr: "düğümler, blokta olmayan bir ödeme gösteriyor",
    },
  },
  {
    name: "seen",
    status: 0,
    at: [0, 1],
    means: { en: "a payment is in a block, not final", tr: "bir ödeme blokta, kesinleşmedi" },
  },
  {
    name: "partial",
    status: 0,
    at: [1, 1],
    means: { en: "final payments are below the amount", tr: "kesinleşen ödemeler tutarın altında" },
  },
  {
    name: "confirming",
    status: 0,
    at: [0, 2],
    means: {
      en: "enough is in blocks, not all of it final",
      tr: "yeterli tutar bloklarda, tümü kesinleşmedi",
    },
  },
  {
    name: "completed",
    status: 1,
    at: [0, 3],
    means: { en: "the amount is final", tr: "tutar kesinleşti" },
  },
  {
    name: "expired",
    status: 2,
    at: [1, 3],
    means: { en: "not paid in time", tr: "süresinde ödenmedi" },
  },
  {
    name: "reorged",
    status: 2,
    at: [0, 4],
    means: {
      en: "was completed; its payment left the chain, and the operator took it back",
      tr: "tamamlanmıştı; ödemesi zincirden çıktı, yetkili geri aldı",
    },
  },
  {
    name: "cancelled",
    status: 2,
    at: [1, 4],
    means: {
      en: "the shop cancelled it before anything was paid",
      tr: "mağaza, ödeme görülmeden iptal etti",
    },
  },
];

const withdrawal: readonly Stage[] = [
  {
    name: "awaiting_approval",
    status: 0,
    at: [0, 0],
    means: { en: "held for an operator", tr: "bir yetkilinin onayını bekliyor" },
  },
  {
    name: "awaiting_operator",
    status: 0,
    at: [1, 2],
    means: {
      en: "held at the service: its wallet paid exactly this before",
      tr: "hizmette bekliyor: cüzdan aynı ödemeyi daha önce yaptı",
    },
  },
  {
    name: "queued",
    status: 0,
    at: [0, 1],
    means: { en: "waits for the agent", tr: "ödeme sunucusunu bekliyor" },
  },
  {
    name: "signed",
    status: 0,
    at: [0, 2],
    means: { en: "signed, its hash is known", tr: "imzalandı, işlem özeti biliniyor" },
  },
  {
    name: "broadcast",
    status: 0,
    at: [0, 3],
    means: { en: "handed to the chain's nodes", tr: "ağın düğümlerine iletildi" },
  },
  {
    name: "stuck",
    status: 0,
    at: [1, 3],
    means: { en: "an operator must look", tr: "bir yetkilinin incelemesi gerekiyor" },
  },
  {
    name: "confirming",
    status: 0,
    at: [0, 4],
    means: { en: "in a block, not final", tr: "blokta, kesinleşmedi" },
  },
  {
    name: "completed",
    status: 1,
    at: [0, 5],
    means: { en: "final on chain", tr: "zincirde kesinleşti" },
  },
  {
    name: "refused",
    status: 2,
    at: [1, 0],
    means: {
      en: "by policy or an operator, before any signature",
      tr: "imzadan önce kural ya da yetkili reddetti",
    },
  },
  {
    name: "expired",
    status: 2,
    at: [1, 1],
    means: {
      en: "its time is over and no block can take it",
      tr: "süresi doldu ve hiçbir blok onu alamaz",
    },
  },
  {
    name: "failed",
    status: 2,
    at: [1, 4],
    means: { en: "on chain and final without a payment", tr: "zincirde ödeme olmadan kesinleşti" },
  },
];

type StageStep = readonly [from: string, to: string];

export const shopFlows = {
  deposit: {
    stages: deposit,
    ways: [
      ["waiting", "seen"],
      ["waiting", "unconfirmed"],
      ["unconfirmed", "seen"],
      ["seen", "confirming"],
      ["seen", "partial"],
      ["partial", "confirming"],
      ["partial", "expired"],
      ["confirming", "completed"],
      ["waiting", "expired"],
      ["completed", "reorged"],
      ["waiting", "cancelled"],
    ],
  },
  withdrawal: {
    stages: withdrawal,
    ways: [
      ["awaiting_approval", "queued"],
      ["awaiting_approval", "refused"],
      ["queued", "signed"],
      ["queued", "awaiting_operator"],
      ["queued", "refused"],
      ["queued", "expired"],
      ["signed", "broadcast"],
      ["signed", "expired"],
      ["broadcast", "confirming"],
      ["broadcast", "stuck"],
      ["confirming", "completed"],
      ["confirming", "failed"],
    ],
  },
} as const satisfies Readonly<
  Record<string, { readonly stages: readonly Stage[]; readonly ways: readonly StageStep[] }>
>;

type Flow = keyof typeof shopFlows;

const [width, height, pitch] = [136, 34, 58];
const columns = [4, 172] as const;
const edge = 316; // the right end, where a way goes round a stage

const corner = ({ at: [column, row] }: Stage) => ({ x: columns[column], y: 4 + row * pitch });

/** Down a column, across a row, down to another column, or round the right column. */
function wayOf(from: Stage, to: Stage): string {
  const [a, b] = [corner(from), corner(to)];
  const [fromColumn, fromRow] = from.at;
  const [toColumn, toRow] = to.at;
  if (fromColumn === toColumn) return `M${a.x + width / 2} ${a.y + height}V${b.y - 2}`;
  if (fromRow === toRow) return `M${a.x + width} ${a.y + height / 2}H${b.x - 2}`;
  const isRound = toRow - fromRow > 1;
  if (isRound)
    return `M${a.x + width} ${a.y + height / 2}H${edge}V${b.y + height / 2}H${b.x + width + 2}`;
  const [startX, endX] = fromColumn === 0 ? [a.x + width, b.x - 2] : [a.x, b.x + width + 2];
  return `M${startX} ${a.y + height / 2 + 6}L${endX} ${b.y + height / 2 + (toRow > fromRow ? -6 : 6)}`;
}

/** `label` says for a screen reader what the picture shows. */
function drawingOf(flow: Flow, label: string): string {
  const { ways } = shopFlows[flow];
  const stages: readonly Stage[] = shopFlows[flow].stages;
  const find = (name: string): Stage => stages.find((stage) => stage.name === name) as Stage;
  const lines = ways.map(
    ([from, to]) => `<path d="${wayOf(find(from), find(to))}" marker-end="url(#end-${flow})"/>`,
  );
  const boxes = stages.map((stage) => {
    const { x, y } = corner(stage);
    return `<g class="s${stage.status}"><rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8"/><text x="${x + width / 2}" y="${y + 21}">${escapeHtml(stage.name)}</text></g>`;
  });
  const rows = Math.max(...stages.map(({ at: [, row] }) => row)) + 1;
  return `<svg class="drawing" viewBox="0 0 320 ${rows * pitch - pitch + height + 8}" role="img" aria-label="${escapeHtml(label)}">
<defs><marker id="end-${flow}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>
${lines.join("")}${boxes.join("")}</svg>`;
}

/** Rows of a table: stage, status, meaning. */
const stageRows = (flow: Flow, language: Language): readonly (readonly string[])[] =>
  shopFlows[flow].stages.map(({ name, status, means }) => [
    codeHtml(name),
    String(status),
    escapeHtml(means[language]),
  ]);

const listOf = (lines: readonly string[]): string =>
  `<ol>${lines.map((line) => `<li>${proseHtml(line)}</li>`).join("\n")}</ol>`;

/** The chapters in their order, each with an id that the contents name. */
const guideChapters = ["token", "stages", "verify", "csv", "errors"] as const;
type Chapter = (typeof guideChapters)[number];

function guideOf(language: Language, baseUrl: string): string {
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

/** The parts of the document that the page reads. */
interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly headers: Readonly<Record<string, { readonly description: string }>>;
  };
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { readonly schema: Schema; readonly example: object }>
    >;
  };
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
      }
    >
  >;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly (string | number)[];
  readonly examples?: readonly (string | object)[];
  readonly properties?: Readonly<Record<string, Schema | false>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

interface DocumentPage {
  readonly document: Document;
  readonly language: Language;
  readonly words: PageWords;
}

/** Text of the document, which is English on every page. */
const english = (language: Language, html: string): string =>
  language === "en" || html === "" ? html : `<span lang="en">${html}</span>`;

const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf("/") + 1);

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined)
    return `<a href="#${escapeHtml(nameOf(schema.$ref))}">${escapeHtml(nameOf(schema.$ref))}</a>`;
  // A narrowed body adds nothing to its own heading.
  if (schema.allOf?.[0] !== undefined) return typeOf(schema.allOf[0]);
  const forms = schema.oneOf ?? schema.anyOf;
  if (forms !== undefined) return forms.map(typeOf).join(" or ");
  if (schema.type === "array")
    return `list of ${schema.items === undefined ? "anything" : typeOf(schema.items)}`;
  const values =
    schema.enum === undefined
      ? ""
      : `: ${schema.enum.map((value) => codeHtml(`${value}`)).join(", ")}`;
  return `${escapeHtml(schema.type ?? "")}${values}`;
}

function meaningOf(
  { description = "", examples = [] }: Schema,
  { language, words }: DocumentPage,
): string {
  const [example] = examples;
  const said = english(language, proseHtml(description));
  if (example === undefined) return said;
  return `${said} ${escapeHtml(words.labels.forExample)} ${codeHtml(typeof example === "string" ? example : JSON.stringify(example))}.`;
}

const optionalOf = (isRequired: boolean, { labels }: PageWords): string =>
  isRequired ? "" : ` <em>${escapeHtml(labels.optional)}</em>`;

function fields(name: string, schema: Schema, shown: DocumentPage): string {
  if (schema.oneOf !== undefined && schema.properties === undefined)
    return `<p>${escapeHtml(shown.words.labels.oneOf)}: ${typeOf(schema)}.</p>`;
  const { properties = {}, required = [] } = schema;
  const own = Object.entries(properties).flatMap(([field, one]) =>
    one === false ? [] : [[field, one] as const],
  );
  const rows = own.map(([field, one]) => [
    codeHtml(field),
    `${typeOf(one)}${optionalOf(required.includes(field), shown.words)}`,
    meaningOf(one, shown),
  ]);
  return tableHtml(name, shown.words.fieldHeads, rows);
}

function parametersOf(operation: Operation, shown: DocumentPage): string {
  const { document, words, language } = shown;
  const rows = (operation.parameters ?? []).map((given) => {
    const one = "$ref" in given ? document.components.parameters[nameOf(given.$ref)] : given;
    if (one === undefined) return [];
    return [
      codeHtml(one.name),
      `${escapeHtml(one.in)}, ${typeOf(one.schema)}${optionalOf(one.required === true, words)}`,
      english(language, proseHtml(one.description ?? "")) || meaningOf(one.schema, shown),
    ];
  });
  const label = `${words.labels.parameters}: ${operation.operationId}`;
  return rows.length === 0
    ? ""
    : `<h4>${escapeHtml(words.labels.parameters)}</h4>${tableHtml(label, words.parameterHeads, rows)}`;
}

function commandOf(
  method: string,
  path: string,
  { servers }: Document,
  example: object | undefined,
): string {
  const isGet = method === "get";
  const lines = [
    `curl -s ${isGet ? "" : "-X POST "}"${servers[0]?.url ?? ""}${path}"`,
    '  -H "signatureToken: $(token)"',
    ...(isGet ? [] : ["  -H 'Content-Type: application/json'"]),
    ...(example === undefined ? [] : [`  -d '${JSON.stringify(example)}'`]),
  ];
  return lines.join(" \\\n");
}

/** A code's text in the page's language. */
function wordsOfCode(line: string, language: Language): string {
  const [, name = ""] = /^- `([a-z_0-9]+)`: /.exec(line) ?? [];
  if (language === "en" || !Object.hasOwn(answerCodes, name))
    return english(language, proseHtml(line.replace(/^- /, "")));
  return `${codeHtml(name)}: ${escapeHtml(answerCodes[name as keyof typeof answerCodes].tr)}`;
}

function answersOf(
  { operationId, responses }: Operation,
  { language, words }: DocumentPage,
): string {
  const rows = Object.entries(responses).map(([status, { description, content = {} }]) => {
    const lines = description.split("\n").map((line) => wordsOfCode(line, language));
    const bodies = Object.entries(content).map(([type, { schema }]) =>
      type === "application/json" ? typeOf(schema) || '<a href="#Error">Error</a>' : codeHtml(type),
    );
    return [`<strong>${escapeHtml(status)}</strong>`, bodies.join(", "), lines.join("<br>")];
  });
  return `<h4>${escapeHtml(words.labels.answers)}</h4>${tableHtml(`${words.labels.answers}: ${operationId}`, words.answerHeads, rows)}`;
}

const nameOfOperation = ({ operationId, summary }: Operation, { operations }: PageWords): string =>
  operations[operationId] ?? summary;

function sectionOf(
  method: string,
  path: string,
  operation: Operation,
  shown: DocumentPage,
): string {
  const { document, language, words } = shown;
  const { labels } = words;
  const { operationId: id, description = "", security } = operation;
  const [body] = Object.entries(operation.requestBody?.content ?? {}).map(([, content]) => content);
  const isOpen = security.length === 0;
  const name = nameOfOperation(operation, words);
  const order =
    body === undefined ? "" : `<h4>${escapeHtml(labels.body)}</h4><p>${typeOf(body.schema)}</p>`;
  const command = isOpen
    ? ""
    : blockHtml(`${labels.command}: ${name}`, commandOf(method, path, document, body?.example));
  const answer = answerExamples[id];
  const example =
    answer === undefined
      ? ""
      : `<h4>${escapeHtml(labels.example)}</h4>${blockHtml(`${labels.example}: ${name}`, JSON.stringify(answer, null, 2))}`;
  return `<section id="${escapeHtml(id)}">
<h3><span class="method ${escapeHtml(method)}">${escapeHtml(method.toUpperCase())}</span> ${codeHtml(path)}</h3>
<p><strong>${escapeHtml(name)}.</strong> ${english(language, proseHtml(description))}
${isOpen ? escapeHtml(labels.noToken) : `${escapeHtml(labels.scope)} ${codeHtml(security[0]?.signatureToken?.[0] ?? "")}.`}</p>
${parametersOf(operation, shown)}${order}${command}${example}
${answersOf(operation, shown)}
</section>`;
}

/** One event. Header fields and answers are the same for all events, and are listed above them. */
function webhookOf(
  type: string,
  { operationId, summary, requestBody }: Operation,
  { language, words }: DocumentPage,
): string {
  const [body] = Object.values(requestBody?.content ?? {});
  return `<section id="${escapeHtml(operationId)}"><h3><span class="method post">POST</span> ${codeHtml(type)}</h3>
<p>${escapeHtml(words.labels.when)}: ${english(language, proseHtml(summary))}. ${escapeHtml(words.labels.body)}: ${body === undefined ? "" : typeOf(body.schema)}.</p></section>`;
}

function webhooksOf(shown: DocumentPage): string {
  const all = Object.entries(shown.document.webhooks).map(([type, { post }]) => ({ type, post }));
  const [first] = all;
  const common =
    first === undefined ? "" : `${parametersOf(first.post, shown)}${answersOf(first.post, shown)}`;
  return `${common}${all.map(({ type, post }) => webhookOf(type, post, shown)).join("\n")}`;
}

interface Link {
  readonly id: string;
  readonly text: string;
  readonly isChapter: boolean;
}

const linkOf = ({ id, text, isChapter }: Link): string =>
  `<li class="${isChapter ? "chapter" : "place"}"><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`;

/** Operations and events by the document's tags, each a chapter with its links. */
function groupsOf(
  shown: DocumentPage,
): readonly { readonly links: readonly Link[]; readonly html: string }[] {
  const { document, language, words } = shown;
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  return document.tags.map(({ name, description }) => {
    const members = all.filter(({ operation }) => operation.tags.includes(name));
    const events = Object.entries(document.webhooks).filter(([, { post }]) =>
      post.tags.includes(name),
    );
    const title = words.groups[name] ?? name;
    const links = [
      { id: name, text: title, isChapter: true },
      ...members.map(({ operation }) => ({
        id: operation.operationId,
        text: nameOfOperation(operation, words),
        isChapter: false,
      })),
      ...events.map(([type, { post }]) => ({ id: post.operationId, text: type, isChapter: false })),
    ];
    const sections = members.map(({ method, path, operation }) =>
      sectionOf(method, path, operation, shown),
    );
    const html = `<h2 id="${escapeHtml(name)}">${escapeHtml(title)}</h2><p>${english(language, proseHtml(description))}</p>
${events.length === 0 ? "" : webhooksOf(shown)}${sections.join("\n")}`;
    return { links, html };
  });
}

function bodiesOf(shown: DocumentPage): string {
  const { components } = shown.document;
  const { words, language } = shown;
  const bodies = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<section id="${escapeHtml(name)}"><h3>${escapeHtml(name)}</h3><p>${english(language, proseHtml(schema.description ?? ""))}</p>${fields(name, schema, shown)}</section>`,
  );
  const headers = Object.entries(components.headers).map(([name, { description }]) => [
    codeHtml(name),
    english(language, proseHtml(description)),
  ]);
  return `<h2 id="headers">${escapeHtml(words.chapters.headers)}</h2>
<section>${tableHtml(words.chapters.headers, words.headerHeads, headers)}</section>
<h2 id="bodies">${escapeHtml(words.chapters.bodies)}</h2>
${bodies.join("\n")}`;
}

export interface PageOptions {
  readonly language: Language;
  readonly style: string; // paths of style sheet and document, relative to the page
  readonly source: string;
}

/** The page of a document that `createDocument` made. */
export function createPage(given: object, { language, style, source }: PageOptions): string {
  const document = given as Document;
  const words = pageWords[language];
  const shown = { document, language, words };
  const groups = groupsOf(shown);
  const chapter = (id: keyof PageWords["chapters"]): Link => ({
    id,
    text: words.chapters[id],
    isChapter: true,
  });
  const links = [
    ...guideChapters.map(chapter),
    ...groups.flatMap((group) => group.links),
    ...(["headers", "bodies"] as const).map(chapter),
  ];
  const { info } = document;
  const [other, otherName] = words.other;
  const note = words.referenceNote === "" ? "" : ` ${escapeHtml(words.referenceNote)}`;
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(words.title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${escapeHtml(style)}">
</head>
<body>
<header class="top">
<a class="skip" href="#content">${escapeHtml(words.skip)}</a>
<h1>${escapeHtml(words.title)} <small>${escapeHtml(info.version)}</small></h1>
<a href="?lang=${other}" lang="${other}" hreflang="${other}">${escapeHtml(otherName)}</a>
<p>${escapeHtml(words.intro)} ${proseHtml(words.about || info.description)}${note} ${escapeHtml(words.programs)} <a href="${escapeHtml(source)}">OpenAPI 3.1</a></p>
</header>
<nav aria-label="${escapeHtml(words.contents)}"><ul>${links.map(linkOf).join("\n")}</ul></nav>
<main id="content" tabindex="-1">
${guideOf(language, document.servers[0]?.url ?? "")}
${groups.map(({ html }) => html).join("\n")}
${bodiesOf(shown)}
</main>
</body>
</html>
`;
}
