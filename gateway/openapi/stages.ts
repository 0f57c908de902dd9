/**
 * The stages of a record, which OpenAPI cannot draw: each with its status and meaning, and a
 * drawing of the ways between them as inline SVG. Source: docs/api.md, One transaction.
 */
import type { Language } from "../answer/language.ts";
import { codeHtml, escapeHtml } from "./html.ts";

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

export const flows = {
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

export type Flow = keyof typeof flows;

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
export function drawingOf(flow: Flow, label: string): string {
  const { ways } = flows[flow];
  const stages: readonly Stage[] = flows[flow].stages;
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
export const stageRows = (flow: Flow, language: Language): readonly (readonly string[])[] =>
  flows[flow].stages.map(({ name, status, means }) => [
    codeHtml(name),
    String(status),
    escapeHtml(means[language]),
  ]);
