/**
 * Counts the journal again from the facts: payments, sums of small payments, transfers, and the
 * moves that adjust a balance. It shares no rule with the functions that post moves.
 */
interface QuestionableDatabase {
  all<Row>(sql: string, ...values: readonly (string | number | null)[]): readonly Row[];
}

interface AccountSums {
  units: bigint;
  held: bigint;
}

const hasCoins = (network: string): boolean => network.startsWith("bip122:");
const hasTags = (network: string): boolean => network.startsWith("xrpl:");

/** The sums that each account should have, by `network address currency`. */
class Accounts {
  readonly byName = new Map<string, AccountSums>();
  readonly #openedAt: ReadonlyMap<string, number>;

  constructor(openedAt: ReadonlyMap<string, number>) {
    this.#openedAt = openedAt;
  }

  /** An opening has every move of its block and before. */
  move(name: string, units: bigint, block: number): void {
    if (block > (this.#openedAt.get(name) ?? -1)) this.#of(name).units += units;
  }

  adjust(name: string, units: bigint): void {
    this.#of(name).units += units;
  }

  hold(name: string, units: bigint): void {
    this.#of(name).held += units;
  }

  #of(name: string): AccountSums {
    const known = this.byName.get(name) ?? { units: 0n, held: 0n };
    this.byName.set(name, known);
    return known;
  }
}

interface Place {
  readonly network: string;
  readonly account: string;
  readonly currency: string;
  readonly units: string;
  readonly block: number;
}

const nameOf = ({ network, account, currency }: Omit<Place, "units" | "block">): string =>
  `${network} ${account} ${currency}`;

interface Transfer {
  readonly operation: string;
  readonly network: string;
  readonly currency: string | null;
  readonly coin: string | null;
  readonly units: string;
  readonly payer: string;
  readonly receiver: string | null;
  readonly status: number;
  readonly feeUnits: string | null;
  readonly finalBlock: number | null;
  readonly sentUnits: string | null;
  readonly receivedUnits: string | null;
}

function countTransfer(accounts: Accounts, row: Transfer, hot: ReadonlySet<string>): void {
  const { operation, network, units, payer, receiver, status, finalBlock: block } = row;
  const currency = operation === "topup" ? row.coin : row.currency;
  const placeOf = (account: string, of: string): string => `${network} ${account} ${of}`;
  if (status === 0) {
    if (operation === "sweep" && currency !== null)
      accounts.hold(placeOf(payer, currency), BigInt(units));
    return;
  }
  if (block === null) return;
  const fee = BigInt(row.feeUnits ?? "0");
  const isInside =
    status === 1 && operation === "sweep" && hasCoins(network) && row.sentUnits === null;
  const amount = status !== 1 ? 0n : BigInt(units) - (isInside ? fee : 0n);
  if (currency !== null) {
    accounts.move(placeOf(payer, currency), -BigInt(row.sentUnits ?? amount), block);
    const isOurs =
      operation !== "withdraw" || (!hasTags(network) && hot.has(`${network} ${receiver}`));
    if (isOurs)
      accounts.move(placeOf(receiver ?? "", currency), BigInt(row.receivedUnits ?? amount), block);
  }
  const feeCurrency = isInside ? currency : row.coin;
  if (feeCurrency !== null) accounts.move(placeOf(payer, feeCurrency), -fee, block);
}

/** @returns what is wrong with the journal, each fault in a line; empty if all of it is right */
export function journalFaults(database: QuestionableDatabase): readonly string[] {
  const rows = database.all<{
    network: string;
    address: string;
    currency: string;
    kind: string;
    units: string;
    heldUnits: string;
    openedBlock: number | null;
  }>("SELECT * FROM accounts");
  const named = rows.map((row) => [nameOf({ ...row, account: row.address }), row] as const);
  const accounts = new Accounts(
    new Map(
      named.flatMap(([name, { openedBlock }]) =>
        openedBlock === null ? [] : [[name, openedBlock] as const],
      ),
    ),
  );
  const hot = new Set(
    rows.flatMap(({ kind, network, address }) => (kind === "hot" ? [`${network} ${address}`] : [])),
  );
  const found = new Map<string, AccountSums>();
  for (const [name, row] of named)
    found.set(name, { units: BigInt(row.units), held: BigInt(row.heldUnits) });
  return [...sumFaults(database, found), ...factFaults(database, accounts, hot, found)];
}

/** Each account has the sum of its moves and of its sums, and each move two sides. */
function sumFaults(
  database: QuestionableDatabase,
  found: ReadonlyMap<string, AccountSums>,
): readonly string[] {
  const left = new Map([...found].map(([name, { units }]) => [name, units]));
  const take = (name: string, units: bigint): void => {
    left.set(name, (left.get(name) ?? 0n) - units);
  };
  const moves = database.all<Place & { fromSide: string; toSide: string }>(
    "SELECT network, '' AS account, currency, units, block, fromSide, toSide FROM moves",
  );
  for (const { network, currency, units, fromSide, toSide } of moves) {
    if (!toSide.startsWith("@")) take(`${network} ${toSide} ${currency}`, BigInt(units));
    if (!fromSide.startsWith("@")) take(`${network} ${fromSide} ${currency}`, -BigInt(units));
  }
  for (const sum of listSums(database)) take(nameOf(sum), BigInt(sum.units));
  return [...left].flatMap(([name, units]) =>
    units === 0n ? [] : [`${name}: ${units} more than its moves`],
  );
}

/** The sums of small payments that an opening does not have. */
function listSums(database: QuestionableDatabase): readonly (Place & { readonly kind: string })[] {
  return database.all(
    `SELECT s.network, s.account, s.currency, s.units, s.toBlock AS block, s.kind FROM straySums s
     WHERE s.toBlock > coalesce((SELECT a.openedBlock FROM accounts a
       WHERE a.network = s.network AND a.address = s.account AND a.currency = s.currency), -1)`,
  );
}

/** Each account has what the facts say. */
function factFaults(
  database: QuestionableDatabase,
  accounts: Accounts,
  hot: ReadonlySet<string>,
  found: ReadonlyMap<string, AccountSums>,
): readonly string[] {
  const paid = database.all<Place>(
    `SELECT p.network, p.currency, p.units, p.block,
       CASE WHEN p.network LIKE 'xrpl:%' THEN d.payTo ELSE p.address END AS account
     FROM payments p JOIN deposits d ON d.id = p.transactionId
     WHERE p.final = 1 AND NOT EXISTS (SELECT 1 FROM transfers t WHERE t.operation = 'topup' AND t.merchant = d.merchant
         AND t.network = p.network AND t.receiver = p.address AND t.units = p.units AND p.logIndex = -1
         AND ((t.status = 1 AND t.txHash = p.txHash AND NOT EXISTS (SELECT 1 FROM signatures o
             WHERE o.txHash = p.txHash AND o.network = p.network AND o.transactionId <> t.id))
           OR p.txHash IN (SELECT s.txHash FROM signatures s WHERE s.transactionId = t.id)))`,
  );
  for (const one of paid) accounts.move(nameOf(one), BigInt(one.units), one.block);
  for (const one of listSums(database)) {
    accounts.adjust(nameOf(one), BigInt(one.units));
    if (one.kind === "dust" && hasCoins(one.network)) accounts.hold(nameOf(one), BigInt(one.units));
  }
  const transfers = database.all<Transfer>(
    `SELECT t.*, n.currency AS coin, m.sentUnits, m.receivedUnits FROM transfers t
     LEFT JOIN movedPayments m ON m.transactionId = t.id LEFT JOIN nativeCoins n ON n.network = t.network`,
  );
  for (const one of transfers) countTransfer(accounts, one, hot);
  const adjusted = database.all<Place & { fromSide: string; toSide: string }>(
    `SELECT network, '' AS account, currency, units, block, fromSide, toSide FROM moves
     WHERE kind IN ('opening','outside','owner','note')`,
  );
  for (const { network, currency, units, fromSide, toSide } of adjusted)
    if (toSide.startsWith("@"))
      accounts.adjust(`${network} ${fromSide} ${currency}`, -BigInt(units));
    else accounts.adjust(`${network} ${toSide} ${currency}`, BigInt(units));
  // An opening is a remainder: up to its block the account also has what was posted before it.
  for (const [side, sign] of [
    ["toSide", 1n],
    ["fromSide", -1n],
  ] as const) {
    const before = database.all<Place>(
      `SELECT m.network, m.${side} AS account, m.currency, m.units, m.block FROM moves m JOIN accounts a
         ON a.address = m.${side} AND a.network = m.network AND a.currency = m.currency AND m.block <= a.openedBlock
       WHERE m.kind NOT IN ('opening','outside','owner','note')`,
    );
    for (const one of before) accounts.adjust(nameOf(one), sign * BigInt(one.units));
  }
  const names = new Set([...found.keys(), ...accounts.byName.keys()]);
  const none: AccountSums = { units: 0n, held: 0n };
  return [...names].flatMap((name) => {
    const [is, should] = [found.get(name) ?? none, accounts.byName.get(name) ?? none];
    return is.units === should.units && is.held === should.held
      ? []
      : [`${name}: ${is.units} held ${is.held}, should be ${should.units} held ${should.held}`];
  });
}
