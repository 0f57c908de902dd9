/**
 * The payment page as HTML, whole without any script. Network, amount and address stand in this
 * order while money is asked for; else the outcome and what to do now. Every text goes through the
 * renderer, which escapes it.
 */
import type { ComponentChildren, VNode } from "preact";
import { renderToStaticMarkup } from "preact-render-to-string";
import { encode } from "uqr";
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import type { Language } from "../answer/language.ts";
import { fiatDecimal } from "../config/fiat.ts";
import type { PayerView } from "./payer-view.ts";
import {
  asksForMoney,
  dueUnits,
  isPriceOver,
  isRequestOver,
  judgePayerState,
  type PayerState,
  pageContentMark,
  pageReloadSeconds,
  payEndOf,
  sumFinalAndSeenUnits,
} from "./state.ts";
import { type PayerPageWords, type SentenceFigures, wordsByLanguage } from "./words.ts";

/*
 * A QR code as inline SVG: one path of strokes, always dark on white, with the quiet zone of four
 * modules that scanners need. Source: ISO/IEC 18004.
 */

const quiet = 4;

/** The dark runs of each row, each a stroke through the middle of the row. */
function strokes(rows: readonly (readonly boolean[])[]): string {
  let path = "";
  for (const [y, row] of rows.entries()) {
    for (let x = 0; x < row.length; x += 1) {
      if (row[x] !== true) continue;
      const from = x;
      while (row[x + 1] === true) x += 1;
      path += `M${from} ${y}.5h${x + 1 - from}`;
    }
  }
  return path;
}

interface QrDrawing {
  readonly size: number; // modules of a side, with the quiet zone
  readonly ink: string;
}

/** A page that waits asks for the same code every few seconds, and to draw it costs most. */
const drawingsMax = 2_000;
const drawings = new Map<string, QrDrawing>();

function drawingOf(text: string): QrDrawing {
  const known = drawings.get(text);
  if (known !== undefined) return known;
  const { data, size } = encode(text, { ecc: "M", border: quiet });
  const drawing = { size, ink: strokes(data) };
  if (drawings.size >= drawingsMax) drawings.delete(drawings.keys().next().value as string);
  drawings.set(text, drawing);
  return drawing;
}

function QrCode({ text, label }: { readonly text: string; readonly label: string }): VNode {
  const { size, ink } = drawingOf(text);
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <path class="qr-paper" d={`M0 0h${size}v${size}H0z`} />
      <path class="qr-ink" d={ink} />
    </svg>
  );
}

/* Small parts of the payment page, each used in more than one place of it. */

/** A zero and a letter that no hexadecimal digit is: the mark before the digits of an address. */
const prefixForm = /^0[g-z]/;

/** Prefix and groups of four, which a person can compare. Nothing stands between them in a copy. */
export function splitAddressIntoGroups(address: string): readonly string[] {
  const [prefix = ""] = prefixForm.exec(address) ?? [];
  return [
    ...(prefix === "" ? [] : [prefix]),
    ...(address.slice(prefix.length).match(/.{1,4}/g) ?? []),
  ];
}

/** The first and the last four characters at least, by which people compare addresses. */
function isMarked(groups: readonly string[], at: number): boolean {
  const isShort = (groups.at(-1)?.length ?? 0) < 4;
  return (
    at === (prefixForm.test(groups[0] ?? "") ? 1 : 0) || at >= groups.length - (isShort ? 2 : 1)
  );
}

function AddressGroups({ address, id }: { readonly address: string; readonly id: string }): VNode {
  const groups = splitAddressIntoGroups(address);
  return (
    <code class="groups" id={id}>
      {groups.map((group, at) => (
        <>
          {at === 0 ? null : <wbr />}
          {isMarked(groups, at) ? <b>{group}</b> : <span>{group}</span>}
        </>
      ))}
    </code>
  );
}

/** Hidden until the script runs, because it does nothing without. */
function CopyButton({
  of,
  label,
  words,
}: {
  readonly of: string;
  readonly label: string;
  readonly words: PayerPageWords;
}): VNode {
  return (
    <button type="button" class="copy" data-copy={of} data-copied={words.copied} hidden>
      {label}
    </button>
  );
}

const shapes = {
  wait: "M12 7v5l3.5 2",
  good: "M7.5 12.5l3 3 6-6.5",
  care: "M12 7v6M12 16.5v.1",
  stop: "M8.5 8.5l7 7M15.5 8.5l-7 7",
} as const;
export type NoticeTone = keyof typeof shapes;

/** A sign beside a title, which says the same. */
export function NoticeSign({ tone }: { readonly tone: NoticeTone }): VNode {
  return (
    <svg class="sign" viewBox="0 0 24 24" aria-hidden="true">
      <circle cx="12" cy="12" r="10" />
      <path d={shapes[tone]} />
    </svg>
  );
}

const isMail = (contact: string): boolean => !contact.includes("://");

/** A page is shown without its scheme. */
export function ContactLine({
  contact,
  orderId,
}: {
  readonly contact: string;
  readonly orderId: string;
}): VNode {
  if (!isMail(contact)) {
    return (
      <a href={contact} target="_top" rel="noopener">
        {contact.replace(/^https?:\/\//, "").replace(/\/$/, "")}
      </a>
    );
  }
  return (
    <a
      href={`mailto:${encodeURIComponent(contact).replace("%40", "@")}?subject=${encodeURIComponent(orderId)}`}
    >
      {contact}
    </a>
  );
}

/*
 * Money and times as a reader of the page's language writes them. A Turkish reader takes 12.345 for
 * twelve thousand, so an amount of coins has that reader's comma too; a copy has the point that
 * wallets take.
 */

const localeOf: Readonly<Record<Language, string>> = { en: "en-GB", tr: "tr-TR" };
const priceDigitsMax = 8;

/** A format costs some hundred times more to make than to use, and a page uses three. */
const moments: Readonly<Record<Language, Intl.DateTimeFormat>> = {
  en: momentFormat("en"),
  tr: momentFormat("tr"),
};

function momentFormat(language: Language): Intl.DateTimeFormat {
  const options = { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" } as const;
  return new Intl.DateTimeFormat(localeOf[language], options);
}

/** A sum of fiat money by a decimal string, exact at any length. */
export function fiatText(language: Language, amount: string, currency: string): string {
  const [, fraction = ""] = amount.split(".");
  const digits = Math.min(priceDigitsMax, Math.max(2, fraction.length));
  const options = {
    style: "currency",
    currency,
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  } as const;
  const format = new Intl.NumberFormat(localeOf[language], options) as unknown as {
    format(value: string): string;
  };
  return format.format(amount);
}

/** An amount of coins, a decimal string, exact at any length. */
export const coinText = (language: Language, amount: string): string =>
  language === "tr" ? amount.replace(".", ",") : amount;

/** A price as an integer of so many decimals, which hold each price that the gateway keeps. */
const priceDecimal = 18;

/**
 * The worth of units at the quote's price, rounded up to a hundredth; "" if no price can be read.
 */
export function fiatOfUnits(units: bigint, decimal: number, price: string): string {
  const parsed = parseAmount(price, priceDecimal);
  if (!parsed.ok) return "";
  const one = 10n ** BigInt(decimal + priceDecimal - fiatDecimal);
  return formatAmount((units * parsed.units + one - 1n) / one, fiatDecimal);
}

/** A moment in UTC, with the zone's name. */
function timeText(language: Language, atMs: number): string {
  return `${moments[language].format(atMs)} UTC`;
}

export interface PageFrame {
  readonly language: Language;
  readonly version: string; // the style sheet's and the script's
}

interface View {
  readonly shown: PayerView;
  readonly state: PayerState;
  readonly figures: SentenceFigures;
  readonly words: PayerPageWords;
  readonly language: Language;
}

const tones: Readonly<Record<PayerState, NoticeTone>> = {
  waiting: "wait",
  unconfirmed: "wait",
  seen: "wait",
  short: "care",
  over: "good",
  completed: "good",
  ending: "wait",
  expired: "stop",
  expiredWithMoney: "care",
  late: "care",
  otherCoin: "care",
  outOfService: "stop",
  quoteOver: "care",
  paidOtherwise: "good",
  cancelled: "stop",
};

/** States in which the payer needs a person of the shop. */
const needsShop: ReadonlySet<PayerState> = new Set([
  "over",
  "expiredWithMoney",
  "late",
  "otherCoin",
  "cancelled",
]);

/** Another coin came, and the state's own sentences do not say so. */
const hasOthersBeside = ({ others }: PayerView, state: PayerState): boolean =>
  others.length > 0 && state !== "otherCoin";

const asksForShop = (shown: PayerView, state: PayerState): boolean =>
  needsShop.has(state) ||
  shown.isRevoked ||
  hasOthersBeside(shown, state) ||
  (state === "paidOtherwise" && sumFinalAndSeenUnits(shown) > 0n);

const minuteMs = 60_000;

function figuresOf(shown: PayerView, language: Language): SentenceFigures {
  const { symbol, decimal, network, amountUnits } = shown;
  const say = (units: bigint): string =>
    `${coinText(language, formatAmount(units, decimal))} ${symbol}`;
  const over = shown.finalUnits - amountUnits;
  return {
    shop: shown.shop,
    symbol,
    network: network.name,
    amount: `${coinText(language, shown.amount)} ${symbol}`,
    sum: say(sumFinalAndSeenUnits(shown) + shown.lateUnits),
    arriving: say(shown.arrivingUnits),
    isHeld: shown.isHeld,
    missing: say(dueUnits(shown)),
    over: say(over > 0n ? over : 0n),
    end: timeText(language, shown.expiresAt),
    others: shown.others
      .map((other) => `${coinText(language, other.amount)} ${other.symbol}`.trim())
      .join(language === "tr" ? " ve " : ", "),
    confirmations: shown.confirmations,
    confirmationsNeeded: network.confirmations,
    finalMinutes: network.finalMinutes,
    isSlow: shown.isSlow,
    isRevoked: shown.isRevoked,
    isOpen: !isRequestOver(shown),
    hasMoney: sumFinalAndSeenUnits(shown) > 0n,
    isPaying: shown.chosen?.otherwise === "paying",
    canRenew: shown.chosen !== null && shown.chosen.newUnits !== null,
  };
}

/** So many pages of 9 KiB are kept. */
const pagesMax = 500;
const pages = new Map<string, readonly [beforeTime: string, afterTime: string]>();

/**
 * The page of one request. A page without a script loads itself every few seconds, and little of
 * it is new: the text is kept by all that it shows, and the server's time alone is put in.
 */
export function renderPage(shown: PayerView, frame: PageFrame): string {
  const key = contentOf(shown, frame);
  const known = pages.get(key);
  if (known !== undefined) return known.join(nowAttribute(shown));
  const text = drawPage(shown, frame);
  const parts = text.split(nowAttribute(shown));
  if (pages.size >= pagesMax) pages.delete(pages.keys().next().value as string);
  pages.set(key, [parts[0] ?? "", parts[1] ?? ""]);
  return text;
}

/** No text of a shop holds it, because quotes are escaped. */
const nowAttribute = ({ nowMs }: PayerView): string => `data-now="${nowMs}"`;

/** All that a page shows but the server's time, of which it shows the minutes left. */
function contentOf({ linkFor, nowMs, ...shown }: PayerView, frame: PageFrame): string {
  const view = { linkFor, nowMs, ...shown };
  const time = [isRequestOver(view), isPriceOver(view), minutesLeft(view)];
  return JSON.stringify([frame, time, linkFor(dueUnits(view)), shown], (_, value: unknown) =>
    typeof value === "bigint" ? `${value}` : value,
  );
}

const minutesLeft = (view: PayerView): number =>
  Math.floor((payEndOf(view) - view.nowMs) / minuteMs);

/** The page of one request, drawn anew. */
export function drawPage(shown: PayerView, { language, version }: PageFrame): string {
  const state = judgePayerState(shown);
  const words = wordsByLanguage[language];
  const view: View = { shown, state, figures: figuresOf(shown, language), words, language };
  const seconds = pageReloadSeconds(shown);
  return documentOf(
    {
      language,
      version,
      title: `${words.states[state].title(view.figures)} · ${words.pageTitle(view.figures)}`,
    },
    <>
      <Top {...view} />
      <main
        id="live"
        data-state={state}
        data-mark={pageContentMark(shown)}
        data-look={String(seconds)}
        data-now={String(shown.nowMs)}
      >
        <Status {...view} />
        {state === "quoteOver" ? <NewPrice {...view} /> : null}
        {asksForMoney(shown, state) ? <Pay {...view} /> : <Outcome {...view} />}
        <Foot {...view} />
      </main>
      <p id="said" class="unseen" role="status" />
      <p id="lost" class="lost" hidden>
        {words.connectionLost}
      </p>
      {seconds === 4 ? (
        <noscript>
          <p class="foot">{words.reloads}</p>
        </noscript>
      ) : null}
    </>,
    seconds === 4,
  );
}

/** A page that says one thing: always of the same form. */
export function renderNotice(
  which: "notFound" | "tooMany" | "unreadable" | "busy",
  { language, version }: PageFrame,
): string {
  const [title, text] = wordsByLanguage[language][which];
  return documentOf(
    { language, version, title },
    <main>
      <section class="status stop">
        <NoticeSign tone="stop" />
        <h1>{title}</h1>
        <p>{text}</p>
      </section>
    </main>,
    false,
  );
}

interface Head extends PageFrame {
  readonly title: string;
}

export function documentOf(
  { language, version, title }: Head,
  body: ComponentChildren,
  reloads: boolean,
): string {
  const page = (
    <html lang={language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <meta name="color-scheme" content="light dark" />
        {reloads ? (
          <noscript>
            <meta http-equiv="refresh" content="15" />
          </noscript>
        ) : null}
        <title>{title}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={`page.css?v=${version}`} />
        <script src={`page.js?v=${version}`} defer />
      </head>
      <body>{body}</body>
    </html>
  );
  return `<!doctype html>${renderToStaticMarkup(page)}`;
}

function Top({ shown, figures, words, language }: View): VNode {
  const other: Language = language === "en" ? "tr" : "en";
  return (
    <header class="top">
      <h1>{words.pay(figures)}</h1>
      <a href={`?lang=${other}`} lang={other} hreflang={other}>
        {words.otherLanguage}
      </a>
      {shown.network.isTest ? <p class="test">{words.testNetwork}</p> : null}
    </header>
  );
}

/** The state in words, with the time left while the payer can still act. */
function Status({ shown, state, figures, words, language }: View): VNode {
  const { title, text, now } = words.states[state];
  const sentence = text(figures);
  const asks = asksForMoney(shown, state);
  return (
    <section class={`status ${tones[state]}${asks ? " brief" : ""}`}>
      <NoticeSign tone={tones[state]} />
      <h2>{title(figures)}</h2>
      {asks ? <Left shown={shown} words={words} /> : null}
      {sentence === "" ? null : (
        <p>
          {withTime(sentence, figures.end, <Moment language={language} atMs={shown.expiresAt} />)}
        </p>
      )}
      <p class="now">{now(figures)}</p>
      {hasOthersBeside(shown, state) ? <p>{words.alsoCame(figures)}</p> : null}
      {asksForShop(shown, state) ? <Write shown={shown} words={words} /> : null}
    </section>
  );
}

/** The sentence with its time as an element, which the script turns into the reader's zone. */
function withTime(sentence: string, time: string, element: VNode): ComponentChildren {
  const [before = "", after] = sentence.split(time);
  return after === undefined ? sentence : [before, element, after];
}

function Left({ shown, words }: Pick<View, "shown" | "words">): VNode {
  const minutes = minutesLeft(shown);
  return (
    <p
      class="left"
      data-end={String(payEndOf(shown))}
      data-many={words.minutesLeft}
      data-last={words.lastMinute}
    >
      {minutes < 1 ? words.lastMinute : words.minutesLeft.replace("{}", String(minutes))}
    </p>
  );
}

function Write({ shown, words }: Pick<View, "shown" | "words">): VNode {
  const { shop, contact, orderId } = shown;
  return (
    <p class="write">
      {contact === "" ? (
        words.noContact(shop)
      ) : (
        <>
          {words.writeTo(shop)} <ContactLine contact={contact} orderId={orderId} />.
        </>
      )}{" "}
      {words.nameOrder} <strong class="order">{orderId}</strong>
    </p>
  );
}

/** The price of now at the same address, if there is one, and the way to the other currencies. */
function NewPrice({ shown, words, language }: View): VNode {
  const { chosen, token, symbol, decimal } = shown;
  const units = (chosen?.newUnits ?? 0n) - sumFinalAndSeenUnits(shown);
  return (
    <section class="pay">
      {units <= 0n ? null : (
        <form method="post" action={`${token}/price?lang=${language}`}>
          <button type="submit" class="back">
            {words.newPrice(`${coinText(language, formatAmount(units, decimal))} ${symbol}`)}
          </button>
        </form>
      )}
      {chosen === null || sumFinalAndSeenUnits(shown) > 0n ? null : (
        <a class="wallet" href={`${chosen.token}?lang=${language}`}>
          {words.otherCurrency}
        </a>
      )}
    </section>
  );
}

/** Amount, network and address of the payment that the shop waits for. */
function Pay(view: View): VNode {
  const { shown, state, figures, words, language } = view;
  const due = dueUnits(shown);
  const link = shown.linkFor(due);
  const dueText = formatAmount(due, shown.decimal);
  const { network, symbol } = shown;
  return (
    <section class="pay">
      <div class="network">
        <h3>{words.network}</h3>
        <p class="network-name">
          {network.name}
          {network.tokens === "" ? null : <span class="tokens">{network.tokens}</span>}
        </p>
        <p class="only">{words.networkOnly(figures)}</p>
      </div>
      <div class="amount">
        <h3>{state === "short" ? words.amountLeft : words.amount}</h3>
        <p class="sum">
          <span id="amount" data-value={dueText}>
            {coinText(language, dueText)}
          </span>{" "}
          {symbol}
        </p>
        <DueFiat view={view} due={due} />
        <CopyButton of="amount" label={words.copyAmount} words={words} />
      </div>
      <div class="address">
        <h3>{words.address}</h3>
        <AddressGroups address={shown.address} id="address" />
        <CopyButton of="address" label={words.copyAddress} words={words} />
      </div>
      {shown.tag === "" ? null : (
        <div class="address">
          <h3>{words.tag}</h3>
          <code class="groups" id="tag">
            <b>{shown.tag}</b>
          </code>
          <p class="only">{words.tagNeeded}</p>
          <CopyButton of="tag" label={words.copyTag} words={words} />
        </div>
      )}
      {link === "" ? null : (
        <div class="early">
          <WalletLink words={words} link={link} hasTag={shown.tag !== ""} />
        </div>
      )}
      <Faces shown={shown} words={words} link={link} />
    </section>
  );
}

/** The rest to send, in the money of the shop's price; nothing without one. */
function DueFiat({ view, due }: { readonly view: View; readonly due: bigint }): VNode | null {
  const { shown, state, words, language } = view;
  const { quote, decimal, symbol } = shown;
  if (quote === null) return null;
  const sum = state === "short" ? fiatOfUnits(due, decimal, quote.price) : quote.fiatAmount;
  if (sum === "") return null;
  const say = (amount: string): string => fiatText(language, amount, quote.fiatCurrency);
  return <p class="fiat">{words.price(say(sum), say(quote.price), symbol)}</p>;
}

/**
 * The code's two faces. Radio buttons switch them, so that it works without script. A code of the
 * address alone would lose the tag, so an address with a tag has only the link's code.
 */
function Faces({
  shown,
  words,
  link,
}: Pick<View, "shown" | "words"> & { readonly link: string }): VNode | null {
  const address = <QrCode text={shown.address} label={words.qrAddress} />;
  if (link === "") return shown.tag === "" ? <div class="faces">{address}</div> : null;
  if (shown.tag !== "") {
    return (
      <div class="faces">
        <LinkFace words={words} link={link} hasTag />
      </div>
    );
  }
  return (
    <fieldset class="faces">
      <legend class="unseen">{words.qrFaces}</legend>
      <input type="radio" name="face" id="face-address" checked />
      <label for="face-address">{words.faceAddress}</label>
      <input type="radio" name="face" id="face-link" />
      <label for="face-link">{words.faceLink}</label>
      <div class="face face-address">{address}</div>
      <div class="face face-link">
        <LinkFace words={words} link={link} hasTag={false} />
      </div>
    </fieldset>
  );
}

interface WalletLinkParts {
  readonly words: PayerPageWords;
  readonly link: string;
  readonly hasTag: boolean;
}

/** The code, and beside it the link, which a narrow screen shows before the codes instead. */
function LinkFace({ words, link, hasTag }: WalletLinkParts): VNode {
  return (
    <>
      <QrCode text={link} label={words.qrLink} />
      <div class="beside">
        <WalletLink words={words} link={link} hasTag={hasTag} />
      </div>
    </>
  );
}

function WalletLink({ words, link, hasTag }: WalletLinkParts): VNode {
  return (
    <>
      <a class="wallet" href={link}>
        {words.openWallet}
      </a>
      <p class="hint">{words.linkHint(hasTag)}</p>
    </>
  );
}

/** States of a choice in which its payer may want another currency of the invoice. */
const offersOthers: ReadonlySet<PayerState> = new Set(["waiting", "outOfService", "otherCoin"]);

const hasWayBackInFoot = (shown: PayerView, state: PayerState): boolean =>
  state === "seen" || state === "quoteOver" || asksForMoney(shown, state);

/** The payments as a receipt; nothing if none came. */
function Outcome(view: View): VNode | null {
  const { shown, figures, words, language, state } = view;
  const isPaid = shown.status === 1;
  const hasMoney = sumFinalAndSeenUnits(shown) + shown.lateUnits > 0n;
  const isOnItsWay = shown.arrivingUnits > 0n;
  // One act is the main one; the way back stands in the foot while another is.
  const back = hasWayBackInFoot(shown, state) ? "" : shown.returnUrl;
  if (!hasMoney && !isOnItsWay && back === "") return null;
  return (
    <section class="outcome">
      {back === "" ? null : (
        <a class="back" href={back} target="_top" rel="noopener">
          {words.back(shown.shop)}
        </a>
      )}
      {hasMoney || isOnItsWay ? (
        <>
          <h3>{isPaid ? words.receipt : words.payment}</h3>
          <dl>
            {hasMoney ? (
              <>
                <dt>{words.paid}</dt>
                <dd>{figures.sum}</dd>
              </>
            ) : null}
            {isOnItsWay ? (
              <>
                <dt>{words.onItsWay}</dt>
                <dd>{figures.arriving}</dd>
              </>
            ) : null}
            <dt>{words.asked}</dt>
            <dd>
              {figures.amount}
              {shown.quote === null ? null : (
                <span class="fiat">
                  {fiatText(language, shown.quote.fiatAmount, shown.quote.fiatCurrency)}
                </span>
              )}
            </dd>
            <dt>{words.network}</dt>
            <dd>{`${shown.network.name} ${shown.network.tokens}`.trim()}</dd>
            <dt>{words.when[isPaid ? 0 : 1]}</dt>
            <dd>
              <Moment language={language} atMs={shown.changedAt} />
            </dd>
            <dt>{words.address}</dt>
            <dd>
              <AddressGroups address={shown.address} id="address" />
            </dd>
            {shown.tag === "" ? null : (
              <>
                <dt>{words.tag}</dt>
                <dd>{shown.tag}</dd>
              </>
            )}
            {shown.transactions.length === 0 ? null : (
              <>
                <dt>{words.transaction}</dt>
                <dd>
                  <Transactions shown={shown} words={words} />
                </dd>
              </>
            )}
          </dl>
        </>
      ) : null}
    </section>
  );
}

/** Each transaction of the payments, the newest first. */
function Transactions({ shown, words }: Pick<View, "shown" | "words">): VNode {
  return (
    <>
      {[...shown.transactions].reverse().map(({ txHash, explorerUrl }) => (
        <>
          <code class="hash">{txHash}</code>
          {explorerUrl === "" ? null : (
            <a href={explorerUrl} target="_blank" rel="noopener noreferrer">
              {words.inExplorer}
            </a>
          )}
        </>
      ))}
      {shown.moreTransactions === 0 ? null : (
        <span>{words.olderTransactions(shown.moreTransactions)}</span>
      )}
    </>
  );
}

/** In UTC; the script writes the reader's own zone. */
export function Moment({
  language,
  atMs,
}: {
  readonly language: Language;
  readonly atMs: number;
}): VNode {
  return <time dateTime={new Date(atMs).toISOString()}>{timeText(language, atMs)}</time>;
}

function Foot({ shown, state, words, language }: View): VNode {
  return (
    <footer class="foot">
      <p>
        {words.order} <strong class="order">{shown.orderId}</strong>
        {asksForMoney(shown, state) ? (
          <>
            {" · "}
            {words.payBy} <Moment language={language} atMs={payEndOf(shown)} />
          </>
        ) : null}
      </p>
      {shown.chosen !== null && sumFinalAndSeenUnits(shown) === 0n && offersOthers.has(state) ? (
        <p>
          <a href={`${shown.chosen.token}?lang=${language}`}>{words.otherCurrency}</a>
        </p>
      ) : null}
      {asksForShop(shown, state) || shown.contact === "" ? null : (
        <p>
          {words.writeTo(shown.shop)}{" "}
          <ContactLine contact={shown.contact} orderId={shown.orderId} />
        </p>
      )}
      {shown.returnUrl !== "" && hasWayBackInFoot(shown, state) ? (
        <p>
          <a href={shown.returnUrl} target="_top" rel="noopener">
            {words.back(shown.shop)}
          </a>
        </p>
      ) : null}
    </footer>
  );
}
