/**
 * The page of an invoice, where its payer chooses the currency: whole without any script. A choice
 * is a form with a button of its own, because a look at the page must never make an address or a
 * price.
 */
import type { VNode } from "preact";
import {
  ContactLine,
  coinText,
  documentOf,
  fiatText,
  Moment,
  NoticeSign,
  type NoticeTone,
  type PageFrame,
} from "./page.tsx";
import type { CurrencyOption, InvoiceView } from "./payer-view.ts";
import { type ChoosingState, choosingMark, judgeChoosingState } from "./state.ts";
import { type PayerPageWords, wordsByLanguage } from "./words.ts";

const minuteMs = 60_000;
/** A page that waits looks so often; one that has ended looks for money that comes late. */
const lookSeconds = { open: 10, ended: 60 } as const;

const tones: Readonly<Record<ChoosingState, NoticeTone>> = {
  choose: "wait",
  noChoice: "care",
  ending: "wait",
  expired: "stop",
  cancelled: "stop",
};

interface Parts extends PageFrame {
  readonly shown: InvoiceView;
  readonly state: ChoosingState;
  readonly words: PayerPageWords;
}

/** The page of an invoice that nobody pays yet, or whose time is over. */
export function renderChoosingPage(shown: InvoiceView, frame: PageFrame): string {
  const words = wordsByLanguage[frame.language];
  const state = judgeChoosingState(shown);
  const parts: Parts = { ...frame, shown, state, words };
  const sum = fiatText(frame.language, shown.fiatAmount, shown.fiatCurrency);
  const [title] = words.choosing.states[state];
  const seconds = shown.status === 0 ? lookSeconds.open : lookSeconds.ended;
  return documentOf(
    { ...frame, title: `${title} · ${words.choosing.title(shown.shop, sum)}` },
    <>
      <Top {...parts} sum={sum} />
      <main
        id="live"
        data-state={state}
        data-mark={choosingMark(shown)}
        data-look={String(seconds)}
        data-now={String(shown.nowMs)}
      >
        <Status {...parts} />
        {state === "choose" || state === "noChoice" ? <Options {...parts} /> : null}
        <Foot {...parts} />
      </main>
      <p id="said" class="unseen" role="status" />
      <p id="lost" class="lost" hidden>
        {words.connectionLost}
      </p>
    </>,
    shown.status === 0,
  );
}

function Top({ shown, language, words, sum }: Parts & { readonly sum: string }): VNode {
  const other = language === "en" ? "tr" : "en";
  return (
    <header class="top">
      <h1>{words.choosing.title(shown.shop, sum)}</h1>
      <a href={`?lang=${other}`} lang={other} hreflang={other}>
        {words.otherLanguage}
      </a>
      {shown.options.some(({ network }) => network.isTest) ? (
        <p class="test">{words.testNetwork}</p>
      ) : null}
    </header>
  );
}

function Status({ shown, state, words }: Parts): VNode {
  const { choosing } = words;
  const [title, now] = choosing.states[state];
  const isOpen = state === "choose";
  const minutes = Math.floor((shown.expiresAt - shown.nowMs) / minuteMs);
  const tried = shown.options.find(({ id }) => id === shown.tried);
  return (
    <section class={`status ${tones[state]}${isOpen ? " brief" : ""}`}>
      <NoticeSign tone={tones[state]} />
      <h2>{title}</h2>
      {isOpen ? (
        <p
          class="left"
          data-end={String(shown.expiresAt)}
          data-many={words.minutesLeft}
          data-last={words.lastMinute}
        >
          {minutes < 1 ? words.lastMinute : words.minutesLeft.replace("{}", String(minutes))}
        </p>
      ) : null}
      {isOpen ? <p>{choosing.hold(shown.quoteMinutes)}</p> : null}
      {now === "" ? null : <p class="now">{now}</p>}
      {tried === undefined || !isOpen ? null : <p class="now">{choosing.tried(tried.symbol)}</p>}
    </section>
  );
}

function Options(parts: Parts): VNode {
  return (
    <ul class="choices" aria-label={parts.words.choosing.list}>
      {parts.shown.options.map((option) => (
        <li>
          <Option {...parts} option={option} />
        </li>
      ))}
    </ul>
  );
}

/** A choice that was made is a link, one that can be made a button, and the rest say why not. */
function Option(parts: Parts & { readonly option: CurrencyOption }): VNode {
  const { shown, option } = parts;
  const inside = <Line {...parts} />;
  if (option.choiceToken !== "")
    return (
      <a class="choice" href={`${option.choiceToken}?lang=${parts.language}`}>
        {inside}
      </a>
    );
  if (option.reason !== "") return <div class="choice out">{inside}</div>;
  return (
    <form method="post" action={`${shown.token}/choose/${option.id}?lang=${parts.language}`}>
      <button type="submit" class="choice">
        {inside}
      </button>
    </form>
  );
}

function Line({ option, words, language }: Parts & { readonly option: CurrencyOption }): VNode {
  const { symbol, network, amount, reason, minimum, choiceToken } = option;
  const { reasons, continues } = words.choosing;
  return (
    <>
      <span class="coin">
        <b>{symbol}</b>
        <span class="soft">{`${network.name} ${network.tokens}`.trim()}</span>
      </span>
      <span class="worth">
        {amount === "" ? null : <span>{coinText(language, amount)}</span>}
        {reason === "" || choiceToken !== "" ? null : (
          <span class="soft">{reasons[reason](`${coinText(language, minimum)} ${symbol}`)}</span>
        )}
        {choiceToken === "" ? null : <span class="soft">{continues}</span>}
      </span>
    </>
  );
}

function Foot({ shown, state, words, language }: Parts): VNode {
  return (
    <footer class="foot">
      <p>
        {words.order} <strong class="order">{shown.orderId}</strong>
        {state === "choose" ? (
          <>
            {" · "}
            {words.choosing.chooseBy} <Moment language={language} atMs={shown.expiresAt} />
          </>
        ) : null}
      </p>
      {shown.contact === "" ? null : (
        <p>
          {words.writeTo(shown.shop)}{" "}
          <ContactLine contact={shown.contact} orderId={shown.orderId} />
        </p>
      )}
      {shown.returnUrl === "" ? null : (
        <p>
          <a href={shown.returnUrl} target="_top" rel="noopener">
            {words.back(shown.shop)}
          </a>
        </p>
      )}
    </footer>
  );
}
