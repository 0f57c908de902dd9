/**
 * Every state of the agent in which something waits: who ends it, what shows it, the line to type
 * and what holds then. A state of a withdrawal, a standing of bytes or a field of the status
 * without its row does not compile. Commands and alerts take
 * their lines from here; docs/states.md is this table.
 */
import type { StateEnd } from "../base/state-end.ts";
import type { BroadcastStanding } from "../chains/nodes.ts";
import type { CourierStatus, SignerStatus, WithdrawalState } from "./socket/verbs.ts";

type Rows<Name extends string> = Readonly<Record<Name, StateEnd>>;
/** Ends of a withdrawal: nothing waits in them. */
export const endedStates = [
  "paid",
  "reverted",
  "conflicted",
  "refused",
  "expired",
  "cancelled",
] as const satisfies readonly WithdrawalState[];
type EndedState = (typeof endedStates)[number];

const agent = "autowithdraw";

// biome-ignore format: a table, one row a line
const withdrawals: Rows<Exclude<WithdrawalState, EndedState>> = {
  held: ["clock", "policy lets a person decide", "`withdrawals`, alert `held`", `${agent} approve ID`, "paid; or refused; or expired at the order's end"],
  approved: ["clock", "waits for a slot, a coin or the gateway's word", "`show ID`", "", "signed, or expired at the order's end"],
  intent: ["clock", "a slot is recorded, no signature yet", "`show ID`", "", "signed in the same run, or judged again at the next start"],
  signed: ["clock", "signed; its bytes are inside the signer", "`show ID`", "", "released when the gateway holds its hash"],
  released: ["clock", "its bytes may be on their way", "`show ID`, alert `stuck`", `${agent} replace ID`, "a block takes it; or its end passes, on chains with ends"],
  broadcast: ["clock", "nodes have it", "`show ID`, alert `stuck`", `${agent} replace ID`, "a block takes it, at its fee or a higher one"],
  included: ["clock", "in a block that is not final", "`show ID`", "", "paid, reverted or conflicted"],
  moved: ["person", "final, and not exactly the payment", "`show ID`, `status`, alarm `COURIER_TOKEN_MOVED`", "autowithdraw-gateway withdrawals moved ID", "the gateway's operator says what it moved, and it ends"],
  quarantined: ["person", "has a slot, and policy does not approve it", "`withdrawals`, `status`", `${agent} approve ID`, "signed again; or `cancel ID` uses its slot up"],
};

// biome-ignore format: a table, one row a line
const offers: Rows<BroadcastStanding> = {
  taken: ["clock", "a node has the bytes", "`show ID`", "", "a block takes them"],
  doubtful: ["clock", "a node may have the bytes", "`show ID`", "", "offered again each half minute"],
  refused: ["clock", "no node took the bytes", "`show ID`, `status`, alert", `${agent} replace ID`, "offered again each half minute; a new attempt follows at the market's fee, within the limits"],
  unsent: ["clock", "no node received the bytes", "`show ID`, `status`", "", "sent once a node is there"],
};

// biome-ignore format: a table, one row a line
const signer: Rows<"locked" | "recovery" | "resync" | "clock" | "ledgerAhead" | "paused" | "networkStopped" | "currencyStopped" | "stuck" | "allVoid" | "noRoom" | "unreachable" | "unwritable" | "readOnly" | "diskFull" | "looserPolicy" | "courierAway" | "unconfirmed"> = {
  locked: ["person", "nothing is signed: the ledger and another word contradict each other", "`status`, alert `locked`", `${agent} recover`, "a new epoch begins by what the gateway has"],
  recovery: ["person", "a recovery is offered, or everything is held after one of both sides", "`status`", `${agent} recover`, "orders go on; `recover --finish` ends the hold"],
  resync: ["clock", "the gateway was rolled back and is sent what it lost", "`status`", "", "new orders are taken then"],
  clock: ["clock", "this clock and the gateway's are ahead of the newest block", "`status`, code `CLOCK_AHEAD`", "timedatectl set-ntp true", "signed again once a block agrees"],
  ledgerAhead: ["clock", "ledger time is ahead of this clock and stands", "`status`, code `LEDGER_AHEAD`", "", "it goes on once this clock has reached it"],
  paused: ["person", "an operator stopped new signatures", "`status`", `${agent} resume`, "signed again"],
  networkStopped: ["person", "no first payment on a network: a foreign transaction, or an operator's order", "`status`, alert `network-stopped`", `${agent} resume --network CHAIN`, "first payments there go on"],
  currencyStopped: ["person", "no first payment in a currency: a final payment moved something else", "`status`, alert `currency-stopped`", `${agent} resume --currency ID`, "first payments in it go on"],
  stuck: ["person", "a withdrawal waits longer than stuckAfterMinutes", "`status`, alert `stuck`", `${agent} show ID`, "what its words say: replace, cancel, approve, or wait"],
  allVoid: ["person", "all attempts are void, and an operator ordered the last", "`status`", `${agent} replace ID`, "another attempt; or `cancel ID`"],
  noRoom: ["clock", "another attempt waits for a limit of the hour or the day", "`status`", "", "signed when the window has room"],
  unreachable: ["person", "the chain cannot reach the slot or the coin", "`status`, code `SWEEP_UNREACHABLE`, `SLOT_UNREACHABLE` or `COIN_UNKNOWN`", `${agent} end ID`, "it ends; a payment whose coin is shown after all goes on by itself"],
  unwritable: ["person", "the ledger could not be written", "`status`, alert", `${agent} doctor`, "a start reads the ledger again"],
  readOnly: ["person", "the ledger's file system is read-only", "`status`, code `LEDGER_READ_ONLY`", `${agent} doctor`, "it goes on once the file system can be written"],
  diskFull: ["clock", "the ledger's disk has too little room", "`status`, code `LEDGER_DISK_FULL`", "", "it goes on by itself when there is room"],
  looserPolicy: ["clock", "limits allow more than those before", "`status`", "", "told for a day, so that nobody widens them unseen"],
  courierAway: ["clock", "the courier does not run, or says nothing", "`status`, code `DOCTOR_COURIER_AWAY`", `${agent} doctor`, "systemd starts it again"],
  unconfirmed: ["clock", "records that the gateway has not acknowledged", "`status`", "", "acknowledged over the link"],
};

// biome-ignore format: a table, one row a line
const courier: Rows<"linkDown" | "chainAway" | "chainLate" | "nodeAway" | "fee" | "pinUnnamed" | "coinSpent" | "uncleared" | "firstSlot" | "firstUnnamed" | "currencyOut" | "lowFunds" | "alertsFail" | "otherConfig"> = {
  linkDown: ["clock", "no link to the gateway", "`status`, `doctor`, alert", `${agent} doctor`, "dialled again, at most each minute"],
  chainAway: ["clock", "too few nodes of a chain answer", "`status`, alert `nodes-away`", `${agent} doctor`, "asked again; payouts there wait"],
  chainLate: ["clock", "the final block stands, or history is short", "`status`, alert `chain-late`", "", "ends are seen when it moves again"],
  nodeAway: ["clock", "one node is left out", "`status`, `doctor`", "", "asked again each half minute"],
  fee: ["clock", "the fee is above a limit, or funds are too few", "`withdrawals`, `show ID`", "", "signed when the market or the funds allow it, or expired at its end"],
  pinUnnamed: ["clock", "the gateway's nodes have not named the coin", "`status`, code `ACCOUNT_PIN_UNNAMED`", "", "signed once they do"],
  coinSpent: ["clock", "nodes show only coins that closed payments here have spent", "`status`, code `ACCOUNT_COIN_SPENT`", `${agent} free CHAIN COIN`, "the nodes catch up; or, when the chain undid the payment, its coin pays again"],
  uncleared: ["clock", "the gateway has not said that nothing pays the order", "`status`, code `WITHDRAWAL_UNCLEARED`", "", "signed once it does"],
  firstSlot: ["person", "an account with a past has no first slot here", "`status`, code `ACCOUNT_FIRST_SLOT`", `${agent} adopt CHAIN`, "it begins there"],
  firstUnnamed: ["clock", "the gateway's nodes have not named the account's next slot", "`status`, code `ACCOUNT_FIRST_UNNAMED`", `${agent} adopt CHAIN`, "it begins once they do"],
  currencyOut: ["clock", "a token's contract has other decimals than configured", "`status`", "", "asked again; nothing is signed in it meanwhile"],
  lowFunds: ["clock", "the hot wallet is below its least funds", "`status`, alert `low-funds`", "", "ends when funds come"],
  alertsFail: ["clock", "an alert could not be sent", "`status`, `doctor`", `${agent} doctor`, "sent again by its schedule"],
  otherConfig: ["person", "the courier runs by another config.json", "`status`", "systemctl reload autowithdraw-signer autowithdraw-courier", "both go by one file"],
};

export const agentStateEnds = { withdrawals, offers, signer, courier } as const;

type StateName = {
  [Group in keyof typeof agentStateEnds]: `${Group} ${keyof (typeof agentStateEnds)[Group] & string}`;
}[keyof typeof agentStateEnds];

/**
 * The fields of the signer's status, each with the states that it tells; none: it tells no state.
 */
export const statesOfSigner: Readonly<Record<keyof SignerStatus, readonly StateName[]>> = {
  agent: [],
  ledgerEpoch: [],
  wallet: [],
  head: [],
  acked: ["signer unconfirmed"],
  handshakeDone: ["courier linkDown"],
  locked: ["signer locked"],
  lockedDetail: ["signer locked"],
  recovery: ["signer recovery"],
  isResyncing: ["signer resync"],
  clockAheadMs: ["signer clock"],
  ledgerAheadMs: ["signer ledgerAhead"],
  paused: ["signer paused"],
  stopped: ["signer networkStopped", "signer currencyStopped"],
  stuck: ["signer stuck"],
  manualReplace: ["signer allVoid"],
  noRoom: ["signer noRoom"],
  unreachable: ["signer unreachable"],
  ledgerWritable: ["signer unwritable"],
  ledgerReadOnly: ["signer readOnly"],
  isolation: [],
  encKeyFrom: [],
  nodesOfGateway: [],
  version: [],
  startedAt: [],
  config: ["courier otherConfig"],
  policyChangedAt: ["signer looserPolicy"],
  policyDigest: [],
  policyLooser: ["signer looserPolicy"],
  limits: [],
  freeBytes: ["signer diskFull"],
  freeBytesMin: ["signer diskFull"],
  counts: ["withdrawals held", "withdrawals approved", "withdrawals quarantined"],
  accounts: [],
  courierConnected: ["signer courierAway"],
  courier: ["signer courierAway"],
};

/** The same of the courier's status. */
export const statesOfCourier: Readonly<Record<keyof CourierStatus, readonly StateName[]>> = {
  at: ["signer courierAway"],
  link: ["courier linkDown"],
  linkDetail: ["courier linkDown"],
  chains: ["courier chainAway", "courier chainLate", "courier nodeAway"],
  waiting: ["courier fee", "courier pinUnnamed", "courier coinSpent", "courier uncleared"],
  durableMedianUs: [],
  configDigest: ["courier otherConfig"],
  notify: ["courier alertsFail"],
  outOfService: ["courier currencyOut"],
  unbegun: ["courier firstSlot", "courier firstUnnamed"],
  lowFunds: ["courier lowFunds"],
};
