/**
 * The chain's word against the gateway's, when everything has ended: what was credited is what
 * arrived, to the last unit, at each address and in the sum; what is worth it was swept, once, to
 * the hot wallet; the balances that a shop reads are those of the chain, and so is the balance of
 * each account in the journal.
 */
import type { Kit } from "../kit/kit.ts";
import { createShop } from "../kit/shop.ts";
import type { GatewayRecords, RecordRow } from "./records.ts";
import type { Shape } from "./shapes.ts";
import { decimalText, type FinalChain, type TestNetwork } from "./test-network.ts";

/** One deposit request of the plan. */
export interface Request {
  readonly shape: Shape;
  readonly askedUnits: bigint;
  readonly currency: string;
  readonly id: string;
  readonly address: string;
  readonly askedAtMs: number; // by the run's own clock
}

/** So much of what reconcile printed is kept. */
const bookCharactersMax = 2_000;

/** By currency, in its own units as decimal text. */
type Sums = Readonly<Record<string, string>>;

export interface Figures {
  readonly ends: Readonly<Record<string, number>>; // requests by stage
  readonly lateMoney: number; // requests that were paid after their end
  readonly arrived: Sums;
  readonly credited: Sums;
  readonly sweeps: number;
  readonly topUps: number;
  readonly swept: Sums;
  readonly left: Sums; // lies on addresses, not worth a sweep
  readonly fees: string; // fees of sweeps and top-ups, in the native coin
  readonly available: Sums;
  readonly violations: readonly string[];
}

interface Case {
  readonly testNetwork: TestNetwork;
  readonly kit: Kit;
  readonly hotWalletAddress: string; // on the test network's chain
  readonly records: GatewayRecords;
  readonly requests: readonly Request[];
  readonly payouts: ReadonlySet<string>; // hashes of payouts to deposit addresses
  readonly early: ReadonlySet<string>; // addresses that were paid before they could be handed out
  readonly others: ReturnType<typeof createShop> | null; // the merchant who only receives
}

export async function judge(run: Case): Promise<Figures> {
  const { testNetwork, kit, hotWalletAddress, records, requests, early } = run;
  const violations: string[] = [];
  const rows = records.now();
  const chain = await testNetwork.read(
    requests.map(({ address }) => address),
    hotWalletAddress,
    run.payouts,
  );
  for (const { address, id } of requests)
    if (early.has(testNetwork.nameOf(address)))
      violations.push(`request ${id} was given ${address}, which was used before`);
  const credited = creditedBy(testNetwork, records, violations);
  compareCredits(testNetwork, chain, requests, credited, violations);
  if (chain.unattributed !== undefined)
    await compareUnattributed(chain.unattributed, kit, violations);
  await compareRequests(run, chain, rows, violations);
  const moves = rows.filter(({ operation, status }) => operation !== "deposit" && status === 1);
  const sweeps = moves.filter(({ operation }) => operation === "sweep");
  const own = ownPart(testNetwork, chain, requests);
  compareSweeps(testNetwork, own, rows, hotWalletAddress, violations);
  const available = await compareBalances(testNetwork, own, kit, violations);
  // The closing makes the moves of payments to a hot wallet from outside.
  await closeBooks(kit, violations);
  compareAccounts(testNetwork, chain, records, hotWalletAddress, violations);
  const ends: Record<string, number> = {};
  const asked = new Set(requests.map(({ id }) => id));
  const deposits = rows.filter(({ id }) => asked.has(id));
  for (const { stage } of deposits) ends[stage] = (ends[stage] ?? 0) + 1;
  return {
    ...{ ends, lateMoney: deposits.filter(({ late }) => late === 1).length },
    arrived: sums(testNetwork, chain.arrived),
    credited: sums(testNetwork, credited),
    ...{ sweeps: sweeps.length, topUps: moves.length - sweeps.length },
    swept: sums(
      testNetwork,
      new Map(sweeps.map((row) => [row.id, new Map([[row.currency, BigInt(row.units)]])])),
    ),
    left: sums(testNetwork, chain.held),
    fees: decimalText(chain.feesUnits, testNetwork.coin.decimal),
    ...{ available, violations },
  };
}

/** The gateway's own books against the chain: an exit other than 0 names each difference. */
async function closeBooks(kit: Kit, violations: string[]): Promise<void> {
  try {
    await kit.operate("reconcile", "--json");
  } catch (error) {
    violations.push(`reconcile: ${String(error).slice(-bookCharactersMax)}`);
  }
}

type ByAddress = ReadonlyMap<string, ReadonlyMap<string, bigint>>;

function sumOf(all: ByAddress, currency: string): bigint {
  return [...all.values()].reduce((sum, units) => sum + (units.get(currency) ?? 0n), 0n);
}

function sums({ decimals }: TestNetwork, all: ByAddress): Sums {
  return Object.fromEntries(
    Object.entries(decimals).map(([currency, decimal]) => [
      currency,
      decimalText(sumOf(all, currency), decimal),
    ]),
  );
}

function creditedBy(
  testNetwork: TestNetwork,
  records: GatewayRecords,
  violations: string[],
): ByAddress {
  const credited = new Map<string, Map<string, bigint>>();
  for (const { address, currency, units, final } of records.credits()) {
    if (final === 0)
      violations.push(
        `a payment of ${units} ${currency} to ${address} is kept that never became final`,
      );
    else {
      const at = credited.get(testNetwork.nameOf(address)) ?? new Map<string, bigint>();
      credited.set(
        testNetwork.nameOf(address),
        at.set(currency, (at.get(currency) ?? 0n) + BigInt(units)),
      );
    }
  }
  return credited;
}

function compareCredits(
  testNetwork: TestNetwork,
  { arrived }: FinalChain,
  requests: readonly Request[],
  credited: ByAddress,
  violations: string[],
): void {
  const known = new Map(
    requests.map(({ address, shape }) => [testNetwork.nameOf(address), shape.name]),
  );
  for (const address of new Set([...arrived.keys(), ...credited.keys()])) {
    for (const currency of Object.keys(testNetwork.decimals)) {
      const [came, said] = [arrived, credited].map((all) => all.get(address)?.get(currency) ?? 0n);
      if (came !== said) {
        violations.push(
          `${came} ${currency} arrived at ${address} (${known.get(address)}) and ${said} were credited`,
        );
      }
    }
  }
}

/** The operator's list of payments for no request has each of them, and nothing else. */
async function compareUnattributed(
  unattributed: readonly string[],
  kit: Kit,
  violations: string[],
): Promise<void> {
  const output = await kit.operate("deposits", "unattributed", "--json", "--limit", "1000");
  const rows = JSON.parse(output.slice(output.indexOf("["))) as { amount: string; tag: string }[];
  const [listed, paid] = [rows.map(({ amount, tag }) => `${amount} ${tag}`), unattributed].map(
    (all) => [...all].sort(),
  );
  const without = (
    all: readonly string[] = [],
    others: readonly string[] = [],
  ): readonly string[] => {
    const left = [...others];
    return all.filter(
      (one) => !left.includes(one) || left.splice(left.indexOf(one), 1).length === 0,
    );
  };
  for (const one of without(paid, listed))
    violations.push(`a payment for no request stands in no list: ${one}`);
  for (const one of without(listed, paid))
    violations.push(`deposits unattributed has what nobody paid: ${one}`);
}

/** The shop's view of each request. */
async function compareRequests(
  { testNetwork, requests, kit, others }: Case,
  { arrived }: FinalChain,
  rows: readonly RecordRow[],
  violations: string[],
): Promise<void> {
  const ownShop = createShop(kit);
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const { id, address, currency, askedUnits, shape } of requests) {
    const name = `request ${id} (${shape.name})`;
    const came = arrived.get(testNetwork.nameOf(address))?.get(currency) ?? 0n;
    const shop = shape.isOthers === true ? (others ?? ownShop) : ownShop;
    const { status, stage, amountReceived } = await shop.transaction(id, 1);
    const text = decimalText(came, testNetwork.decimals[currency] ?? 0);
    if (amountReceived !== text)
      violations.push(`${name} received ${text} and the shop is told ${amountReceived}`);
    if (status === 0) violations.push(`${name} is still ${stage}`);
    if (status === 1 && came < askedUnits)
      violations.push(`${name} is Completed with ${came} of ${askedUnits}`);
    // A request that lost a payment by a reorganisation may end otherwise; the sums above judge it.
    if (testNetwork.robbed.has(testNetwork.nameOf(address))) continue;
    // Just before its end a payment may be in time or late.
    if (shape.ends === "either") continue;
    if (stage !== shape.ends) violations.push(`${name} ended ${stage}, not ${shape.ends}`);
    if ((byId.get(id)?.late === 1) !== (shape.isLate ?? false))
      violations.push(`${name} has the wrong word about late money`);
  }
}

/** The chain without the addresses of the merchant who has no agent. */
function ownPart(
  testNetwork: TestNetwork,
  chain: FinalChain,
  requests: readonly Request[],
): FinalChain {
  const others = new Set(
    requests
      .filter(({ shape }) => shape.isOthers)
      .map(({ address }) => testNetwork.nameOf(address)),
  );
  return { ...chain, held: new Map([...chain.held].filter(([address]) => !others.has(address))) };
}

function compareSweeps(
  testNetwork: TestNetwork,
  chain: FinalChain,
  rows: readonly RecordRow[],
  hotWalletAddress: string,
  violations: string[],
): void {
  const moves = rows.filter(({ operation }) => operation !== "deposit");
  for (const { id, operation, status, stage, code } of moves)
    if (status !== 1) violations.push(`${operation} ${id} is ${stage} ${code}`);
  const said = new Map(
    moves.filter(({ operation }) => operation === "sweep").map((row) => [row.txHash, row]),
  );
  const hotWallet = testNetwork.nameOf(hotWalletAddress);
  for (const { txHash, from, to, currency, units } of chain.left) {
    const row = said.get(txHash);
    said.delete(txHash);
    if (row === undefined)
      violations.push(`${from} sent ${txHash}, which is no sweep that the gateway knows`);
    else if (to !== hotWallet || currency !== row.currency || units !== BigInt(row.units))
      violations.push(
        `${txHash} moved ${units} ${currency} from ${from} to ${to}, not what sweep ${row.id} is`,
      );
  }
  for (const [hash, { id }] of said)
    violations.push(`sweep ${id} is Completed in ${hash}, which the chain does not have`);
  for (const [address, units] of chain.held)
    for (const [currency, least] of Object.entries(testNetwork.sweptFrom))
      if ((units.get(currency) ?? 0n) >= least)
        violations.push(
          `${units.get(currency)} ${currency} lie at ${address} and were worth a sweep`,
        );
}

/** Each account of the journal equals the chain's balance, and no balance is without an account. */
function compareAccounts(
  testNetwork: TestNetwork,
  { held, hotWallet, receivedByTag = new Map() }: FinalChain,
  records: GatewayRecords,
  hotWalletAddress: string,
  violations: string[],
): void {
  const hot = testNetwork.nameOf(hotWalletAddress);
  const balances: ByAddress = new Map([...held, ...receivedByTag, [hot, hotWallet]]);
  const kept = new Map<string, bigint>();
  const keyOf = (address: string, currency: string): string => `${address} ${currency}`;
  for (const { address, currency, units } of records.accounts())
    if (testNetwork.decimals[currency] !== undefined)
      kept.set(keyOf(testNetwork.nameOf(address), currency), BigInt(units));
  for (const [address, units] of balances)
    for (const currency of Object.keys(testNetwork.decimals)) {
      const key = keyOf(address, currency);
      const [journal, chain] = [kept.get(key) ?? 0n, units.get(currency) ?? 0n];
      kept.delete(key);
      if (journal !== chain)
        violations.push(`the journal has ${journal} for ${key}, and the chain ${chain}`);
    }
  for (const [key, units] of kept)
    if (units !== 0n) violations.push(`the journal has ${units} for ${key}, which nobody reads`);
}

/** The shop's balance equals the chain's, to the last unit. */
async function compareBalances(
  testNetwork: TestNetwork,
  chain: FinalChain,
  kit: Kit,
  violations: string[],
): Promise<Sums> {
  const shop = createShop(kit);
  const available: Record<string, string> = {};
  for (const [currency, decimal] of Object.entries(testNetwork.decimals)) {
    const text = (units: bigint): string => decimalText(units, decimal);
    const said = await shop.balance(currency);
    available[currency] = said.available;
    const lies = sumOf(chain.held, currency);
    const hotWallet = chain.hotWallet.get(currency) ?? 0n;
    const pairs: readonly (readonly [string, string, string])[] = [
      ["pending", said.pending, text(lies)],
      ["sweeping", said.sweeping, "0"],
      ["available", said.available, text(hotWallet)],
      ["total", said.total, text(hotWallet + lies)],
    ];
    for (const [name, told, true_] of pairs)
      if (told !== true_)
        violations.push(`the balance of ${currency} has ${name} ${told}, and the chain ${true_}`);
  }
  return available;
}
