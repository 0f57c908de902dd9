/**
 * The payment page as HTML: each of twelve states in both languages, every text escaped, and
 * nothing on it that a customer may not know. Kinds of public reports: btcpayserver/btcpayserver
 * 4303 and 7212 (customers with an expired invoice do not learn whom to ask).
 */
import { describe, expect, it } from "vitest";
import { decimalsOfDeposit } from "../../gateway/api/payer.ts";
import { surplusToleranceUnits } from "../../gateway/config/surplus.ts";
import {
  drawPage,
  fiatOfUnits,
  renderNotice,
  renderPage,
  splitAddressIntoGroups,
} from "../../gateway/pages/page.tsx";
import type { PayerView } from "../../gateway/pages/payer-view.ts";
import {
  asksForMoney,
  judgePayerState,
  type PayerState,
  pageContentMark,
  pageReloadSeconds,
  payerStates,
} from "../../gateway/pages/state.ts";

const nowMs = Date.parse("2026-01-02T03:04:05.678Z");
const address = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94";
const base: PayerView = {
  ...{ token: "9yGZ1kQ0m2n3o4p5q6r7sA", chosen: null, isCancelled: false },
  ...{
    shop: "Corner Shop",
    contact: "help@shop.example.com",
    returnUrl: "https://shop.example.com/thanks",
    orderId: "in-1042",
  },
  network: { name: "Ethereum", tokens: "", isTest: false, confirmations: 12, finalMinutes: 16 },
  ...{
    symbol: "ETH",
    decimal: 2,
    amount: "10",
    amountUnits: 1000n,
    toleranceUnits: 0n,
    surplusToleranceUnits: 5n,
  },
  ...{
    finalUnits: 0n,
    seenUnits: 0n,
    arrivingUnits: 0n,
    isHeld: false,
    lateUnits: 0n,
    confirmations: null,
    others: [],
    address,
    tag: "",
    quote: null,
  },
  linkFor: (units) => `ethereum:${address}@1?value=${units}`,
  ...{
    status: 0,
    isLate: false,
    isRevoked: false,
    isSlow: false,
    isOut: false,
    expiresAt: nowMs + 3_600_000,
    changedAt: nowMs,
    nowMs,
    transactions: [],
    moreTransactions: 0,
  },
};
const chosen = {
  ...{ token: "1aGZ1kQ0m2n3o4p5q6r7sB", priceUntil: nowMs, newUnits: 1050n },
  otherwise: "",
} as const;
const ended = { status: 2, expiresAt: nowMs - 60_000 } as const;

/** The view of each state, and words of the page in both languages. */
const table: Readonly<
  Record<PayerState, readonly [Partial<PayerView>, en: readonly string[], tr: readonly string[]]>
> = {
  waiting: [
    {},
    ["Waiting for your payment", "60 min left", "10</span> ETH"],
    ["Ödemeniz bekleniyor", "60 dk kaldı"],
  ],
  unconfirmed: [
    { arrivingUnits: 1000n },
    [
      "Your payment is on its way",
      "10 ETH is in the network",
      "It counts if a block takes it before",
      "Do not send again",
    ],
    ["Ödemeniz yolda", "10 ETH ağda görüldü", "Yeniden göndermeyin"],
  ],
  seen: [
    { seenUnits: 1000n, confirmations: 3 },
    ["Payment seen", "3 of 12 confirmations", "10 ETH arrived"],
    ["Ödeme görüldü", "12 onaydan 3 tanesi"],
  ],
  short: [
    { finalUnits: 600n, seenUnits: 100n },
    [
      "3 ETH missing",
      "7 ETH of 10 ETH",
      "Send the missing 3 ETH to the same address",
      "?value=300",
    ],
    ["3 ETH eksik", "Eksik kalan 3 ETH tutarını aynı adrese gönderin"],
  ],
  over: [
    { status: 1, finalUnits: 1250n },
    ["2.5 ETH more than asked for", "help@shop.example.com", "Back to Corner Shop"],
    ["istenenden 2,5 ETH fazla", "help@shop.example.com"],
  ],
  completed: [
    {
      status: 1,
      finalUnits: 1000n,
      transactions: [{ txHash: "0xabc", explorerUrl: "https://etherscan.io/tx/0xabc" }],
    },
    ["Paid", "Receipt", "Back to Corner Shop", "0xabc", "https://etherscan.io/tx/0xabc"],
    ["Ödendi", "Makbuz", "Mağazaya dön"],
  ],
  ending: [
    { expiresAt: nowMs - 60_000 },
    ["The time to pay is over", "If you have paid, wait. Do not send now."],
    ["Ödeme süresi doldu", "Ödediyseniz bekleyin"],
  ],
  expired: [
    ended,
    ["The time to pay is over", "Do not send anything"],
    ["Ödeme süresi doldu", "bir şey göndermeyin"],
  ],
  expiredWithMoney: [
    { ...ended, finalUnits: 700n },
    ["Too little arrived in time", "7 ETH of 10 ETH", "help@shop.example.com", "in-1042"],
    ["Süresinde eksik ödeme geldi", "help@shop.example.com", "in-1042"],
  ],
  late: [
    { ...ended, finalUnits: 1000n, isLate: true },
    ["The payment arrived too late", "help@shop.example.com"],
    ["Ödeme geç geldi", "help@shop.example.com"],
  ],
  otherCoin: [
    { others: [{ amount: "12", symbol: "USDC" }] },
    ["Another coin arrived", "12 USDC arrived", "The order is still open: send 10 ETH"],
    ["Başka bir coin geldi", "12 USDC geldi", "Sipariş hâlâ açık: 10 ETH gönderin"],
  ],
  outOfService: [
    { isOut: true },
    ["ETH is out of service", "Please do not send now"],
    ["ETH şu anda hizmet dışı", "göndermeyin"],
  ],
  quoteOver: [
    { chosen },
    [
      ...["This price has expired", "Continue with the new price.", "in-1042"],
      ...[
        "Continue with 10.5 ETH",
        'action="9yGZ1kQ0m2n3o4p5q6r7sA/price?lang=en"',
        'method="post"',
      ],
      'href="1aGZ1kQ0m2n3o4p5q6r7sB?lang=en">Pay with another currency',
    ],
    ["Bu fiyatın süresi doldu", "10,5 ETH ile devam et", "Başka para birimiyle öde"],
  ],
  paidOtherwise: [
    { ...ended, chosen: { ...chosen, otherwise: "paid" } },
    ["Paid in another currency", "Do not send anything to this address"],
    ["Başka bir para birimiyle ödendi", "Bu adrese bir şey göndermeyin"],
  ],
  cancelled: [
    { ...ended, isCancelled: true },
    ["The shop cancelled this payment", "help@shop.example.com", "in-1042"],
    ["Mağaza bu ödemeyi iptal etti", "help@shop.example.com", "in-1042"],
  ],
};

const dress = { language: "en", version: "v1" } as const;

describe("the payment page", () => {
  for (const state of payerStates) {
    const [change, en, tr] = table[state];
    const view = { ...base, ...change };
    it(`is in the state ${state}, and says so in English and Turkish`, () => {
      expect(judgePayerState(view)).toBe(state);
      for (const [language, parts] of [
        ["en", en],
        ["tr", tr],
      ] as const) {
        const page = renderPage(view, { ...dress, language });
        expect(page).toMatch(new RegExp(`^<!doctype html><html lang="${language}">`));
        for (const part of parts) expect(page).toContain(part);
        const asks = asksForMoney(view, state);
        expect(page.includes('id="amount"')).toBe(asks);
        expect(page.includes('<svg class="qr"')).toBe(asks);
        expect(page).not.toMatch(/undefined|\[object|NaN|<script>|\son[a-z]+=|\sstyle=/);
      }
    });
  }

  it("is the same from memory as drawn again, at each time of each state", () => {
    const atEnd = base.expiresAt;
    const times = [nowMs, nowMs + 1, nowMs + 59_000, nowMs + 60_000, atEnd - 1, atEnd, atEnd + 1];
    for (const [changed] of Object.values(table))
      for (const language of ["en", "tr", "en"] as const)
        for (const version of ["1", "2"])
          for (const time of times) {
            const view = { ...base, ...changed, nowMs: time };
            expect(renderPage(view, { language, version })).toBe(
              drawPage(view, { language, version }),
            );
          }
  });

  it("that was shown a moment ago is not drawn again", () => {
    let reads = 0;
    const network = {
      ...base.network,
      get name() {
        reads += 1;
        return "Ethereum of this test";
      },
    };
    const readsOf = (time: number): number => {
      reads = 0;
      renderPage({ ...base, network, nowMs: time }, { language: "en", version: "1" });
      return reads;
    };
    expect(readsOf(nowMs + 1)).toBeGreaterThan(1);
    expect(readsOf(nowMs + 500)).toBe(1);
    expect(readsOf(nowMs + 61_000)).toBeGreaterThan(1);
  });

  it("says that confirmation takes longer while the final block stands, and only then", () => {
    const view = { ...base, seenUnits: base.amountUnits };
    for (const language of ["en", "tr"] as const) {
      const [usual, slow] = [false, true].map((isSlow) =>
        renderPage({ ...view, isSlow }, { ...dress, language }),
      );
      const words = { en: "takes longer than usual now", tr: "her zamankinden uzun" }[language];
      expect([usual?.includes(words), slow?.includes(words)]).toEqual([false, true]);
    }
    expect(pageContentMark({ ...view, isSlow: true })).not.toBe(
      pageContentMark({ ...view, isSlow: false }),
    );
  });

  it("has the words of the two languages apart", () => {
    for (const [change] of Object.values(table)) {
      const [en, tr] = (["en", "tr"] as const).map((language) =>
        renderPage({ ...base, ...change }, { ...dress, language }),
      );
      const titleOf = (page: string | undefined): string =>
        /<h2>(.*?)<\/h2>/.exec(page ?? "")?.[1] ?? "";
      expect(titleOf(en)).not.toBe("");
      expect(titleOf(en)).not.toBe(titleOf(tr));
    }
  });

  it("escapes what shops and operators write", () => {
    const script = `<script>alert("1")</script>`;
    const evil = {
      ...{
        shop: script,
        contact: `https://x.example/"${script}`,
        orderId: script,
        returnUrl: `https://x.example/"${script}`,
      },
      ...{
        others: [{ amount: script, symbol: script }],
        symbol: script,
        address: script,
        transactions: [{ txHash: script, explorerUrl: `"${script}` }],
      },
      linkFor: () => `ethereum:"${script}`,
      network: { ...base.network, name: script, tokens: script },
    };
    for (const [change] of Object.values(table)) {
      const page = renderPage({ ...base, ...change, ...evil }, dress);
      expect(page).toContain("&lt;script>alert(");
      expect(page).not.toContain("<script>");
      expect(page).not.toContain('"<');
    }
  });

  it("tells nobody to order again, or that nothing came, while a node shows the payment or the end is not final", () => {
    const over = { expiresAt: nowMs - 60_000 };
    const open: readonly Partial<PayerView>[] = [
      over,
      { ...over, finalUnits: 500n },
      { ...over, arrivingUnits: 1000n },
      { ...over, arrivingUnits: 1000n, isHeld: true },
      { arrivingUnits: 1000n, isHeld: true },
      { arrivingUnits: 300n, seenUnits: 500n },
    ];
    for (const change of open)
      for (const language of ["en", "tr"] as const) {
        const page = renderPage({ ...base, ...change }, { ...dress, language });
        expect(page).not.toMatch(/Order again|No payment was seen|yeniden sipariş|ödeme görülmedi/);
        expect(page).not.toContain('id="amount"');
      }
  });

  it("says that a payment which keeps its request open counts, and of no other that all is well", () => {
    const counts = /It counts, even if it takes longer/;
    const paid = { ...base, arrivingUnits: 1000n };
    expect(renderPage({ ...paid, isHeld: true }, dress)).toMatch(counts);
    expect(renderPage({ ...paid, isHeld: true, expiresAt: nowMs - 1 }, dress)).toMatch(counts);
    expect(renderPage(paid, dress)).not.toMatch(counts);
    expect(renderPage({ ...paid, expiresAt: nowMs - 1 }, dress)).toContain("It may be too late");
    // In a block behind the end, while the request is still open.
    const behind = { ...base, lateUnits: 1000n, expiresAt: nowMs - 1 };
    expect([judgePayerState(behind), judgePayerState({ ...behind, seenUnits: 1000n })]).toEqual([
      "late",
      "seen",
    ]);
    expect(renderPage(behind, dress)).not.toContain("You have done your part");
    expect(new Set([base, paid, { ...paid, isHeld: true }, behind].map(pageContentMark)).size).toBe(
      4,
    );
  });

  it("asks for nothing after the end, also while the request is still open", () => {
    const over = { ...base, expiresAt: nowMs };
    expect([judgePayerState(over), pageReloadSeconds(over)]).toEqual(["ending", 4]);
    expect(judgePayerState({ ...over, seenUnits: 500n })).toBe("ending");
    expect(judgePayerState({ ...over, seenUnits: 1000n })).toBe("seen");
    expect(judgePayerState({ ...base, ...ended, seenUnits: 10n })).toBe("late");
    expect(renderPage(over, dress)).not.toContain('id="address"');
  });

  it("takes a tolerance as paid, and a credited short one as complete", () => {
    expect(judgePayerState({ ...base, toleranceUnits: 10n, seenUnits: 990n })).toBe("seen");
    expect(judgePayerState({ ...base, toleranceUnits: 10n, seenUnits: 989n })).toBe("short");
    expect(judgePayerState({ ...base, status: 1, finalUnits: 990n })).toBe("completed");
  });

  it("calls a payment too much above half a percent, or the currency's own sum if it is more", () => {
    const eth = { decimal: 2, surplusTolerance: "0" };
    expect(surplusToleranceUnits(1000n, eth)).toBe(5n);
    expect(surplusToleranceUnits(1000n, { ...eth, surplusTolerance: "0.04" })).toBe(5n);
    expect(surplusToleranceUnits(1000n, { ...eth, surplusTolerance: "0.06" })).toBe(6n);
    expect(surplusToleranceUnits(199n, eth)).toBe(0n);
    expect(surplusToleranceUnits(1000n, undefined)).toBe(5n);
    const paid = (finalUnits: bigint) => ({ ...base, status: 1, finalUnits }) as const;
    expect(judgePayerState(paid(1005n))).toBe("completed");
    expect(judgePayerState(paid(1006n))).toBe("over");
  });

  it("names another coin beside the right one in each state, with whom to ask", () => {
    const others = [
      { amount: "0.01", symbol: "ETC" },
      { amount: "7", symbol: "USDC" },
    ];
    for (const state of payerStates) {
      if (state === "waiting" || state === "expired" || state === "otherCoin") continue; // no other money
      const [change] = table[state];
      const view = { ...base, returnUrl: "", ...change, others };
      if (judgePayerState(view) !== state) continue; // the other coin is the state itself
      const [en, tr] = (["en", "tr"] as const).map((language) =>
        renderPage(view, { ...dress, language }),
      );
      expect(en, state).toContain("0.01 ETC, 7 USDC came as well. To have it back, write to");
      expect(tr, state).toContain("Ayrıca 0,01 ETC ve 7 USDC geldi.");
      expect(en?.match(/mailto:/g), state).toHaveLength(1);
      expect(renderPage({ ...base, ...change }, dress), state).not.toContain("came as well");
    }
    const beside = { ...base, finalUnits: 1000n, status: 1, others } as const;
    expect([judgePayerState(beside), judgePayerState({ ...beside, finalUnits: 1250n })]).toEqual([
      "completed",
      "over",
    ]);
  });

  it("writes amounts for a Turkish reader with a comma, and copies them with a point", () => {
    const view = { ...base, decimal: 3, amount: "12.345", amountUnits: 12_345n };
    const [en = "", tr = ""] = (["en", "tr"] as const).map((language) =>
      renderPage(view, { ...dress, language }),
    );
    expect(en).toContain('<span id="amount" data-value="12.345">12.345</span> ETH');
    expect(tr).toContain('<span id="amount" data-value="12.345">12,345</span> ETH');
    expect(tr.replace(/data-value="[^"]*"|<svg.*?<\/svg>|href="[^"]*"/gs, "")).not.toContain(
      "12.345",
    );
    for (const state of payerStates) {
      const [change] = table[state];
      const parts = {
        finalUnits: 250n,
        arrivingUnits: 125n,
        others: [{ amount: "1.5", symbol: "B" }],
      };
      const page = renderPage(
        { ...base, amount: "9.5", amountUnits: 950n, ...parts, ...change },
        { ...dress, language: "tr" },
      );
      expect(page.replace(/<[^>]*>/g, " ").match(/[0-9]\.[0-9]+ (?:ETH|B)\b/), state).toBeNull();
    }
  });

  it("names the worth of what is missing, rounded up", () => {
    const quote = {
      fiatCurrency: "TRY",
      fiatAmount: "420",
      price: "42.01",
      priceUpdatedAt: "",
    } as const;
    const short = renderPage({ ...base, quote, finalUnits: 667n }, dress);
    expect(short).toContain("TRY\u00a0139.90, at TRY\u00a042.01 for 1 ETH"); // 3.33 at 42.01 is 139.8933
    expect(fiatOfUnits(333n, 2, "42.01")).toBe("139.9");
    expect(fiatOfUnits(1n, 18, "0.000000000000000001")).toBe("0.01");
    expect(fiatOfUnits(1n, 2, "no price")).toBe("");
    expect(
      renderPage({ ...base, quote: { ...quote, price: "" }, finalUnits: 667n }, dress),
    ).toContain("3.33");
  });

  it("names each transaction of the payments, and what is on its way", () => {
    const transactions = ["0xaaa", "0xbbb"].map((txHash) => ({
      txHash,
      explorerUrl: `https://x.example/${txHash}`,
    }));
    const page = renderPage(
      { ...base, status: 1, finalUnits: 1000n, transactions, moreTransactions: 3 },
      dress,
    );
    expect(page.indexOf("0xbbb")).toBeGreaterThan(0);
    expect(page.indexOf(">0xbbb<")).toBeLessThan(page.indexOf(">0xaaa<"));
    expect(page).toContain("and 3 older");
    const [first] = transactions;
    const arriving = {
      ...base,
      arrivingUnits: 1000n,
      transactions: first === undefined ? [] : [first],
    };
    const way = renderPage(arriving, dress);
    expect([
      way.includes("<dt>On its way</dt><dd>10 ETH</dd>"),
      way.includes("<dt>Paid</dt>"),
    ]).toEqual([true, false]);
    expect(way).toContain("0xaaa");
    expect(pageContentMark({ ...arriving, transactions: [] })).not.toBe(pageContentMark(arriving));
  });

  it("on a narrow screen has the wallet's link before the codes, with what to compare", () => {
    const headOf = (page: string): string =>
      page.slice(page.indexOf('class="early"'), page.indexOf('<svg class="qr"'));
    expect(headOf(renderPage(base, dress))).toContain("holds amount and address. Compare both");
    const tagged = { ...base, tag: "77" };
    expect(headOf(renderPage(tagged, dress))).toContain(
      "holds amount, address and tag. Compare all three",
    );
    expect(renderPage({ ...base, linkFor: () => "" }, dress)).not.toContain('class="early"');
  });

  it("looks for changes while some may come, and its mark changes with what it shows", () => {
    expect(
      Object.values(table).map(([change]) => pageReloadSeconds({ ...base, ...change })),
    ).toEqual([4, 4, 4, 4, 0, 0, 4, 60, 60, 60, 4, 4, 4, 60, 60]);
    const marks = Object.values(table).map(([change]) => pageContentMark({ ...base, ...change }));
    expect(new Set(marks).size).toBe(payerStates.length);
    expect(pageContentMark({ ...base, nowMs: nowMs + 60_000 })).toBe(pageContentMark(base));
    expect(pageContentMark({ ...base, seenUnits: 1000n, confirmations: 1 })).not.toBe(
      pageContentMark({ ...base, seenUnits: 1000n, confirmations: 2 }),
    );
  });

  it("shows an address in groups with nothing between them", () => {
    expect(splitAddressIntoGroups("0x9858EfFD232B4033")).toEqual([
      "0x",
      "9858",
      "EfFD",
      "232B",
      "4033",
    ]);
    expect(splitAddressIntoGroups("TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH").join("")).toBe(
      "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH",
    );
    const shown =
      /<code class="groups" id="address">(.*?)<\/code>/.exec(renderPage(base, dress))?.[1] ?? "";
    expect(shown.replace(/<[^>]*>/g, "")).toBe(address);
  });

  it("shows a tag beside the address, and no code that would lose it", () => {
    const link = (units: bigint): string => `xrpl-link?amount=${units}&dt=4294967295`;
    const tagged = { ...base, tag: "4294967295", linkFor: link };
    for (const [language, words] of [
      ["en", "Enter this tag too"],
      ["tr", "Bu etiketi de girin"],
    ] as const) {
      const page = renderPage(tagged, { ...dress, language });
      for (const part of [
        words,
        '<code class="groups" id="tag"><b>4294967295</b></code>',
        'data-copy="tag"',
      ])
        expect(page).toContain(part);
      expect(page).not.toContain("fieldset");
      expect(page.match(/<svg class="qr"/g)).toHaveLength(1);
      expect(renderPage({ ...tagged, linkFor: () => "" }, { ...dress, language })).not.toContain(
        '<svg class="qr"',
      );
      expect(renderPage({ ...base }, { ...dress, language })).not.toContain(words);
    }
    expect(renderPage({ ...tagged, status: 1, finalUnits: 1000n }, dress)).toContain(
      "<dd>4294967295</dd>",
    );
  });

  it("of a chain without links shows the address only, and a page without a payment has words in both languages", () => {
    expect(renderPage({ ...base, linkFor: () => "" }, dress)).not.toContain("fieldset");
    expect(renderPage(base, dress)).toContain("fieldset");
    expect(renderNotice("notFound", dress)).toContain("There is no such payment");
    expect(renderNotice("tooMany", { ...dress, language: "tr" })).toContain("Çok fazla istek");
  });

  it("formats money by the language, exact at any length", () => {
    const quote = {
      fiatCurrency: "TRY",
      fiatAmount: "12345678901234567890.5",
      price: "42.123456",
      priceUpdatedAt: "",
    } as const;
    const [en, tr] = (["en", "tr"] as const).map((language) =>
      renderPage({ ...base, quote }, { ...dress, language }),
    );
    expect(en).toContain("12,345,678,901,234,567,890.50");
    expect(en).toContain("42.123456");
    expect(tr).toContain("12.345.678.901.234.567.890,50");
  });

  it("an amount's two spellings say how many decimals its currency had", () => {
    expect(decimalsOfDeposit({ amount: "23.809524", units: "23809524" })).toBe(6);
    expect(decimalsOfDeposit({ amount: "0.5", units: "500000000000000000" })).toBe(18);
    expect(decimalsOfDeposit({ amount: "100", units: "100000000" })).toBe(6);
    expect(decimalsOfDeposit({ amount: "7", units: "7" })).toBe(0);
  });
});
