/**
 * Every state of the gateway in which something waits: who ends it, what shows it, the line to type
 * and what holds then. A stage, a domain of faults, a kind of row or a table without its row does
 * not compile, or fails a test. Commands, `/ready` and alerts take their words
 * from here (state-words.ts); docs/states.md is this table.
 */
import type { StateEnd } from "../../base/state-end.ts";
import type { Judgement } from "../../chains/nodes.ts";
import type { FaultDomain } from "../faults/domains.ts";
import type { ClockState } from "../own-clock.ts";
import type { DeliveryState } from "../store/callback-deliveries.ts";
import type { Counts } from "../store/counts.ts";
import type { RowKind } from "../store/set-aside.ts";
import type { UnsweptReason as SweepReason } from "../sweeps/sweep-threshold.ts";

type StuckCode = Extract<Judgement, { readonly kind: "stuck" }>["code"];
type Rows<Name extends string> = Readonly<Record<Name, StateEnd>>;

const command = "autowithdraw-gateway";
const agent = "autowithdraw";

// biome-ignore format: a table, one row a line
const deposits: Rows<"waiting" | "unconfirmed" | "seen" | "partial" | "confirming" | "late" | "reorged" | "unattributed"> = {
  waiting: ["clock", "a request without a payment", "`deposits list`, the page", "", "expired when the gateway's clock and the chain's are past its end"],
  unconfirmed: ["clock", "nodes show a payment that no block has", "`deposits show`, the page", "", "a block takes it, or no node shows it for an hour"],
  seen: ["clock", "a payment in a block that is not final", "`deposits show`, the page", "", "final, or gone with its block"],
  partial: ["clock", "final payments below the amount", "`deposits show`, the page", "", "completed by the rest, or expired"],
  confirming: ["clock", "enough in blocks, not all of it final", "`deposits show`, the page", "", "completed"],
  late: ["person", "money for a request that has ended", "`deposits list`, event `deposit.late`", `${command} deposits credit ID --reason TEXT`, "the request is completed; or the shop pays it back"],
  reorged: ["person", "its credited payment's block left the chain", "`deposits list --reorged`, `status`, alarm `WATCHER_FINAL_REORG`", `${command} deposits revoke ID --reason TEXT`, "failed, and its shop hears it; `deposits keep ID` leaves it completed; a block that has the payment again ends it too"],
  unattributed: ["person", "money that no request asked for", "`deposits unattributed`", `${command} deposits credit ID --reason TEXT`, "it counts for that request"],
};

// biome-ignore format: a table, one row a line
const invoices: Rows<"open"> = {
  open: ["clock", "an invoice that nobody has paid", "its page, the shop's `GET invoice`", "", "completed by its first choice that is paid; expired once choosing is over and no choice is open"],
};

// biome-ignore format: a table, one row a line
const withdrawals: Rows<"awaiting_approval" | "awaiting_operator" | "queued" | "signed" | "broadcast" | "confirming" | "recalled"> = {
  awaiting_approval: ["clock", "held at the merchant's server by its policy", "`withdrawals list`, `status` after 30 minutes", `${agent} approve ID`, "signed; or refused; or expired at the order's end"],
  awaiting_operator: ["person", "its wallet paid exactly this by a transaction that nothing explains", "`status`, alarm `ORDER_PAID_BEFORE`", `${command} withdrawals release ORDER --not HASH --reason TEXT`, "it is paid; or `withdrawals paid ORDER --transaction HASH --reason TEXT` ends it as paid"],
  queued: ["clock", "waits for its agent, for a chain's reader or for funds", "`withdrawals list`, `status`", "", "signed, or expired at the order's end"],
  signed: ["clock", "signed; its bytes may be with nodes", "`withdrawals show`", "", "a block takes it, or its end passes"],
  broadcast: ["clock", "nodes have it", "`withdrawals show`", `${agent} replace ID`, "a block takes it, at its fee or a higher one"],
  confirming: ["clock", "in a block that is not final", "`withdrawals show`", "", "completed or failed"],
  recalled: ["clock", "its shop cancelled it before a signature", "`withdrawals show`", "", "refused at its agent, or signed before that"],
};

// biome-ignore format: a table, one row a line
const stuck: Rows<StuckCode | "COIN_UNKNOWN" | "SLOT_UNREACHABLE"> = {
  WATCHER_SLOT_CONSUMED: ["person", "another transaction used its slot or coin, and may have paid its receiver", "`withdrawals show`, alarm", "", ""],
  WATCHER_CONTENT_DIFFERS: ["person", "final, and not exactly the payment", "`withdrawals show`, alarm", `${command} withdrawals moved ID`, "failed `chain_moved`, or completed by exactly the amount; a sweep: `sweeps moved ID`"],
  PIN_UNREADABLE: ["person", "its agent named a coin that is none", "`withdrawals show`, alarm", "", ""],
  COIN_UNKNOWN: ["person", "no node shows the coin that it spends", "`withdrawals show`, alarm", `${agent} end ID`, "failed `coin_unknown`, after a day of both sides' nodes; it goes on once a node shows the coin"],
  SLOT_UNREACHABLE: ["person", "its account began above its sequence, so no ledger takes it", "`withdrawals show`, alarm", `${agent} end ID`, "failed `slot_unreachable`, once both sides' nodes show the account's beginning; its shop renews"],
};

// biome-ignore format: a table, one row a line
const faults: Rows<FaultDomain> = {
  head: ["clock", "the chain's newest blocks are not read", "`/ready?chain=NAME`, `status`, alert `nodes-away`", `${command} check`, "asked again in each pass; the check names each node's fault"],
  final: ["clock", "the final block stands while new ones come", "`/ready?chain=NAME`, alert `chain-late`", "", "deposits and payouts end when it moves again"],
  span: ["clock", "blocks whose content no node gives", "`/ready?chain=NAME`", "", "read again in each pass; after ten minutes they are a gap"],
  history: ["clock", "a gap: blocks that stand and were not read", "`faults`, alarm `WATCHER_GAP`", `${command} faults --give-up NAME --reason TEXT`, "a node that has them fills it"],
  currency: ["clock", "no balance in a currency can be read", "`faults`, `currencies`", `${command} faults --retry NAME`, "asked again each minute"],
  account: ["clock", "a hot wallet that cannot be read", "`faults`", `${command} faults --retry NAME`, "asked again each minute"],
  address: ["clock", "a deposit address that cannot be read", "`faults`", `${command} faults --retry NAME`, "asked again within a quarter of an hour; one that was to leave next is passed over"],
  withdrawal: ["clock", "a payout that cannot be judged", "`faults`", `${command} faults --retry NAME`, "asked again within five minutes"],
  transaction: ["clock", "a transaction in a block that cannot be read", "`faults`, alarm `WATCHER_UNREAD`", `${command} deposits reread HASH`, "read again within a day; what it paid counts then"],
  provider: ["clock", "a node that is left out", "`status`, `/ready`", `${command} check`, "asked again each half minute"],
  row: ["person", "a stored row that is set aside", "`rows list`, alarm `ROW_SET_ASIDE`", `${command} rows retry NAME`, "it is shown, told or judged again"],
  target: ["clock", "a receiver of callbacks that fails", "`callbacks list`, `status`, alert", "", "each event is sent again by its schedule, then given up"],
  price: ["clock", "a market that gives no price", "`prices`, `/ready`", "", "asked again within fifteen minutes; a price in prices.manual counts meanwhile"],
};

// biome-ignore format: a table, one row a line
const gaps: Rows<"given_up" | "held"> = {
  given_up: ["clock", "a gap that was given up, and the open requests that lived in it", "`faults`, `status`", "", "each request's balance is compared, in its own currency; the request then counts what came, or expires, and the row goes with the last one"],
  held: ["person", "on XRP, an open request that lived in a gap which was given up", "`deposits list --held`, `faults`, `status`", `${command} deposits release ID --reason TEXT`, "it expires like each other one; or `deposits credit ID --payment HASH` counts what came in the gap"],
};

// biome-ignore format: a table, one row a line
const aside: Rows<RowKind> = {
  record: ["person", "a record that no list can show whole", "`rows list`, code `record_unreadable`", `${command} rows retry NAME`, "lists show it whole, once it is corrected"],
  change: ["person", "a change of which no event can be made", "`rows list`", `${command} rows retry NAME`, "its events are told"],
  event: ["person", "an event that cannot be signed", "`rows list`", `${command} rows retry NAME`, "it is sent"],
  value: ["person", "a completed record of which no value can be made", "`rows list`", `${command} rows retry NAME`, "its value is kept at its next completion"],
  judgement: ["person", "a deposit whose judgement ended the process", "`rows list`", `${command} rows retry NAME`, "it is judged in the next pass"],
};

// biome-ignore format: a table, one row a line
const callbacks: Rows<DeliveryState | "off" | "paused" | "unmade"> = {
  waiting: ["clock", "an event that is not delivered", "`callbacks deliveries`", `${command} callbacks redeliver DELIVERY`, "delivered, or given up after its last try"],
  delivered: ["clock", "an event that its receiver took", "`callbacks deliveries`", "", "forgotten after 60 days"],
  "given up": ["person", "an event of which no try is left", "`callbacks list`, `status`", `${command} callbacks redeliver --callback ID`, "it is sent again"],
  off: ["person", "a receiver that answered 410", "`callbacks list`, alarm `CALLBACK_OFF`", `${command} callbacks add --merchant ID --url URL`, "a new target is told from now on"],
  paused: ["person", "a receiver that its shop paused", "`callbacks list`", `${command} callbacks list`, "its shop resumes it by the API; what waits is sent then"],
  unmade: ["clock", "a change of which no event is made yet", "no place: within a second", "", "told in the next look"],
};

// biome-ignore format: a table, one row a line
const clock: Rows<Exclude<ClockState["kind"], "right">> = {
  ahead: ["person", "this machine's clock is ahead of every chain", "`/ready`, `status`, alert `clock-wrong`", "timedatectl set-ntp true", "requests end again, and tokens are judged by time"],
  behind: ["person", "this machine's clock is behind every chain", "`/ready`, `status`, alert `clock-wrong`", "timedatectl set-ntp true", "requests end again, and tokens are judged by time"],
};

// biome-ignore format: a table, one row a line
const agents: Rows<"away" | "locked" | "paused" | "networkStopped" | "recovering" | "awaitsCeiling" | "foreignPayment" | "restored" | "unread" | "currencyHeld" | "currencyStopped"> = {
  away: ["clock", "an agent without a link", "`agents`, `status`", "", "its withdrawals wait until it is back, or expire"],
  locked: ["person", "an agent that signs nothing", "`agents`, `status`, alert `agent-locked`", `${agent} recover`, "its ledger begins again by what the gateway has"],
  paused: ["person", "an agent that its operator paused", "`agents`, `status`", `${agent} resume`, "it signs again"],
  networkStopped: ["person", "an agent signs no first payment on a network", "`status`", `${agent} resume --network CHAIN`, "orders there go on"],
  currencyHeld: ["person", "a payout in a currency moved something else than was asked for: nothing is paid in it", "`status`, `currencies`, `/ready`, alarm `CURRENCY_MOVES_OTHERWISE`", `${command} currencies resume ID --reason TEXT`, "its orders and sweeps go on"],
  currencyStopped: ["person", "an agent signs no first payment in a currency", "`status`", `${agent} resume --currency ID`, "orders in it go on"],
  recovering: ["person", "a recovery that is offered to an agent", "`agents`", `${agent} recover`, "its orders go on"],
  awaitsCeiling: ["clock", "no address leaves before the agent confirms more of them", "503 `address_limit`", "", "the next link of the agent"],
  foreignPayment: ["person", "a payment of a hot wallet that nothing explains", "`status`, alarm `WATCHER_OUTGOING_FOREIGN`", `${command} withdrawals paid ORDER --transaction HASH --reason TEXT`, "it is the payment of that order; a theft stays named, where the books began later until its alarm is closed"],
  restored: ["clock", "a database from a backup", "`status`", "", "chains and agents are read; deposits are taken then"],
  unread: ["clock", "orders wait until their chain is read up to its newest block", "`status`, alert `payouts-unplaced`", `${command} check`, "they get their places"],
};

// biome-ignore format: a table, one row a line
const books: Rows<"difference" | "unclosed" | "unusable"> = {
  difference: ["person", "an address or hot wallet holds other than the books say", "`reconcile --last`, `/ready`", `${command} reconcile note ADDRESS CURRENCY --amount AMOUNT --by PERSON --reason TEXT`, "it is explained, by name and with a reason"],
  unclosed: ["clock", "the books were not closed in the last night", "`status`, `/ready`", `${command} reconcile`, "closed in the next night"],
  unusable: ["person", "coins of a hot wallet came by transactions too large to prove", "`status`", `${command} status`, "another program with the mnemonic sends the coin to the wallet itself; then it is available"],
};

// biome-ignore format: a table, one row a line
const alarms: Rows<"open"> = {
  open: ["person", "an alarm that nobody has dealt with", "`alarms --open`, `status`", `${command} alarms done NUMBER --reason TEXT`, "it is named no more; a state of its own goes on to be named, where it has one"],
};

// biome-ignore format: a table, one row a line
const sweeps: Rows<SweepReason> = {
  request_open: ["clock", "its request waits for more, or for its end", "`sweeps list`, `deposits show`", "", "swept after the request's end"],
  last_sweep_failed: ["clock", "its last sweep failed", "`sweeps list`", `${command} sweeps order ADDRESS`, "tried again within an hour"],
  currency_unknown: ["person", "its currency is not configured any more", "`sweeps list`", `${command} check`, "swept once the currency is back in the configuration"],
  not_payable: ["person", "its agent was not paired with the currency", "`sweeps list`", `${agent} pair`, "swept once the agent pays in it"],
  out_of_service: ["clock", "its currency is out of service", "`sweeps list`, `currencies`", "", "swept once the currency is in service"],
  currency_held: ["person", "its currency is held, because a payout in it moved something else", "`sweeps list`, `status`", `${command} currencies resume ID --reason TEXT`, "swept"],
  not_automatic: ["person", "its currency is swept by order alone", "`sweeps list`", `${command} sweeps order ADDRESS`, "swept"],
  below_least: ["clock", "it holds less than sweep.least", "`sweeps list`", `${command} sweeps order ADDRESS`, "swept with what comes later"],
  below_fee: ["clock", "its fee is too high for what it holds", "`sweeps list`", `${command} sweeps order ADDRESS`, "swept at a lower fee, or with what comes later"],
  not_there: ["clock", "the chain shows less than was credited", "`sweeps list`, `reconcile`", "", "swept once the chain shows it; the books name a difference"],
  would_revert: ["clock", "the chain would not carry it out", "`sweeps list`", "", "tried again within an hour"],
  sweeps_stuck: ["person", "so many sweeps are stuck that no other begins", "`sweeps list`, `status`", `${command} sweeps list`, "others begin when some of them end"],
  slot_unreachable: ["person", "the chain's count is below the slot of its sweep", "`sweeps show`, alert", `${agent} end ID`, "the sweep ends, and another begins"],
  slot_behind: ["clock", "the nodes count less than the database", "`sweeps list`", `${command} check`, "swept once the nodes have caught up"],
  slot_moving: ["clock", "a transaction of the address that nobody ordered", "`sweeps list`", "", "swept once it is final"],
  slot_ended: ["clock", "the next slot is an ended sweep's", "`sweeps show`", "", "swept once its bytes can be in no block any more"],
  faulty: ["clock", "its address, currency or hot wallet cannot be read", "`sweeps list`, `faults`", `${command} faults --retry NAME`, "swept once it is read"],
  coin_too_large: ["person", "coins there came by transactions too large to prove", "`sweeps list`, `deposits show`", `${command} deposits show ID`, "another program with the mnemonic moves the coin; other coins of the address are swept"],
  no_coin: ["clock", "the hot wallet cannot pay the top-up", "`sweeps list`", "", "swept once the hot wallet has funds"],
};

export const gatewayStateEnds = {
  deposits,
  invoices,
  withdrawals,
  stuck,
  faults,
  gaps,
  aside,
  callbacks,
  clock,
  agents,
  books,
  alarms,
  sweeps,
} as const;

type StateName = {
  [Group in keyof typeof gatewayStateEnds]: `${Group} ${keyof (typeof gatewayStateEnds)[Group] & string}`;
}[keyof typeof gatewayStateEnds];

/** The figures of `status`, each with the states that it counts; none: it counts no state. */
export const countedStates: Readonly<Record<keyof Counts, readonly StateName[]>> = {
  withdrawals: ["withdrawals awaiting_approval", "withdrawals queued", "withdrawals broadcast"],
  deposits: ["deposits waiting", "deposits partial", "deposits confirming"],
  sweeps: ["withdrawals queued", "withdrawals broadcast"],
  jobsUnanswered: ["agents away"],
  agents: ["agents locked", "agents paused"],
  lockedAgents: ["agents locked"],
  callbacks: ["callbacks waiting", "callbacks given up"],
  failingTargets: ["faults target"],
  alarms: ["alarms open"],
  alarmKinds: ["alarms open"],
  foreignPayments: ["agents foreignPayment"],
  missingMoney: ["books difference"],
  faults: [
    "faults address",
    "faults account",
    "faults withdrawal",
    "faults transaction",
    "faults history",
  ],
  waitingForReader: ["agents unread"],
  heldOrders: ["withdrawals awaiting_operator"],
  networkStops: ["agents networkStopped"],
  unusableCoins: ["books unusable"],
  reorgedDeposits: ["deposits reorged"],
  currencyHolds: ["agents currencyHeld"],
  currencyStops: ["agents currencyStopped"],
};

/**
 * Every table of the database, with the states that its rows are; none: its rows wait for nothing.
 */
export const statesOfTables: Readonly<Record<string, readonly StateName[]>> = {
  accountOwners: [],
  accounts: [],
  addressStates: [],
  addresses: ["agents restored"],
  agents: ["agents away", "agents locked", "agents paused", "agents awaitsCeiling"],
  arriving: ["deposits unconfirmed"],
  assignedPayments: [],
  audit: [],
  balances: [],
  bookDifferences: ["books difference"],
  callbackChanges: ["callbacks unmade"],
  callbackDeliveries: ["callbacks waiting", "callbacks given up"],
  callbackEvents: [],
  callbackTargets: ["callbacks off", "callbacks paused"],
  callbackTries: [],
  closings: ["books unclosed"],
  completions: ["callbacks unmade"],
  coinLooks: ["stuck COIN_UNKNOWN"],
  currencyHolds: ["agents currencyHeld"],
  currencyStops: ["agents currencyStopped"],
  cursors: [],
  depositCredits: [],
  deposits: ["deposits waiting"],
  faults: ["faults address", "faults account", "faults currency", "faults withdrawal"],
  firstSights: [],
  foreignTold: ["agents networkStopped"],
  forgottenRanges: ["agents restored"],
  foundAddresses: [],
  gapHolds: ["gaps given_up", "gaps held"],
  gaps: ["faults history", "gaps given_up"],
  gonePayments: ["deposits reorged"],
  invoices: ["invoices open"],
  jobs: ["withdrawals queued"],
  jtis: [],
  keys: [],
  levels: ["agents unread"],
  lookGaps: ["faults currency"],
  merchants: [],
  meta: ["agents restored"],
  moves: [],
  monthEnds: [],
  movedPayments: ["stuck WATCHER_CONTENT_DIFFERS"],
  nativeCoins: [],
  openAlarms: ["alarms open"],
  networkStops: ["agents networkStopped"],
  outgoing: [],
  payments: ["deposits seen", "deposits late", "deposits unattributed"],
  priceReadings: ["faults price"],
  prices: [],
  quotes: [],
  recalls: ["withdrawals recalled"],
  receivingKeys: [],
  recoveries: ["agents recovering"],
  releasedOrders: [],
  reserved: [],
  setAside: ["aside record", "aside change", "aside event", "aside value", "aside judgement"],
  signatures: [],
  slots: [],
  straySumMarks: [],
  strayRecords: [],
  straySums: [],
  sweepNotes: ["sweeps faulty"],
  sweepWishes: ["withdrawals queued"],
  sweeps: [],
  topUps: [],
  transfers: ["withdrawals queued"],
  unexplained: ["agents foreignPayment"],
  unknownCoins: ["stuck COIN_UNKNOWN", "stuck SLOT_UNREACHABLE"],
  unreadTransactions: ["faults transaction"],
  unusableCoins: ["books unusable"],
  voidAttempts: ["withdrawals signed"],
  vouched: ["agents restored"],
  withdrawals: [],
};
