/**
 * Answers that this tree gives otherwise than the tree that made the fixture, each on purpose. A
 * row names its questions by their beginning, and says which change did it. The new answers stand
 * in test/store-fixture/answers-since.json, which `answers.js FOLDER FILE` writes.
 */
export interface Difference {
  /** The questions that begin so, as answers.json spells them. */
  readonly questions: string;
  /** The change, and its commit. */
  readonly reason: string;
}

const withoutAmount =
  "a record that no order made is shown with a link without an amount, where 4d8fbe51 failed or linked to 0";
const causesOfAlarms =
  "hints and dangers are those of an alarm's cause, of the gravest one where none is stored";

const receivedColumn =
  "tables have a column for what the receiver got of a withdrawal that moved another amount, and one for an accepted deposit; for people amounts are numbers and times are dates";

const ownersCoins =
  "what the owner of a key took from an address is on that address no more: 0.1 ETH of Mill Market";

const newPage =
  "the payment page names each transaction and other coins, and writes a Turkish comma; its style changed with it";

export const differences: readonly Difference[] = [
  ...["Harbour & Söhne", "Lark Books", "Night Kiosk"].map((shop) => {
    return { questions: `${shop}: page of `, reason: newPage };
  }),
  {
    questions: "Harbour & Söhne: record in-credited ",
    reason: "a deposit that an operator credited says that it was accepted",
  },
  {
    questions: "Harbour & Söhne: page of now-ending ",
    reason:
      "the payment page says that the end is not final, where 4d8fbe51 told its payer to order again",
  },
  {
    questions: "Harbour & Söhne: page of in-partly ",
    reason: "its money was paid back whole, so the page does not say that the shop has it",
  },
  { questions: "Mill Market: ", reason: `${withoutAmount}; ${ownersCoins}` },
  { questions: "$ gateway balances", reason: ownersCoins },
  {
    questions: "$ gateway report ",
    reason: `${ownersCoins}; a table's chains that could not be read are named on stderr`,
  },
  { questions: "Harbour & Söhne: /api/v1/transactions", reason: withoutAmount },
  { questions: "Harbour & Söhne: pages of /api/v1/transactions", reason: withoutAmount },
  { questions: "Harbour & Söhne: record unattributed/X", reason: withoutAmount },
  { questions: "$ gateway deposits list --json", reason: withoutAmount },
  { questions: "$ gateway deposits list --csv", reason: withoutAmount },
  {
    questions: "$ gateway deposits show ",
    reason: `${withoutAmount}; four more records can be asked for; payments that left the chain are listed`,
  },
  {
    questions: "$ gateway status",
    reason: `${causesOfAlarms}; alarms are open until they are closed; books are rows, a theft stands first, items that cannot be read are counted, orders and sweeps that wait are named, and each problem has a gravity`,
  },
  {
    questions: "$ gateway alarms",
    reason: `${causesOfAlarms}; each has a number, and is open or done`,
  },
  {
    questions: "$ gateway callbacks list",
    reason: "each target tells what was given up, and the line that sends it again",
  },
  { questions: "$ gateway find ", reason: "the words for nothing found name tags too" },
  ...["Harbour & Söhne", "Dawn Bakery", "Night Kiosk", "Lark Books"].map((shop) => {
    return { questions: `${shop}: withdrawals as text/csv`, reason: receivedColumn };
  }),
  { questions: "$ gateway withdrawals list --csv", reason: receivedColumn },
  {
    questions: "books of Ethereum, closed now",
    reason: "the account's kind is told beside a difference",
  },
];
