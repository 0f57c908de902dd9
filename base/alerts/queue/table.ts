/**
 * Every event that an agent sends to its `notify` or a gateway to its `alerts`: one frozen table;
 * docs/events.md has the same rows. An event's end is sent under its name with `-over`. The level
 * is the event's own, for receivers that sort by levels of a log. The tables of problems give each
 * alert its gravity, and an event that may be grave enough to wake somebody has the level error.
 * Pure.
 */
import type { Level } from "../../event-row.ts";
import { nameFields } from "../../name-fields.ts";

type Row = readonly [
  sender: string,
  level: Level,
  subject: string,
  meaning: string,
  advice: string,
];

const fields = ["sender", "level", "subject", "meaning", "advice"] as const;

const table = <const T extends Readonly<Record<string, Row>>>(rows: T) => nameFields(fields, rows);

export const alertTable = table({
  "withdrawal-held": [
    "courier",
    "warn",
    "transactionId",
    "a withdrawal waits for an operator's yes or no",
    "show, then approve or refuse it",
  ],
  "withdrawal-stuck": [
    "courier",
    "warn",
    "transactionId",
    "a withdrawal has not gone on for `notify.stuckMinutes`, see `why`",
    "show it; status says what it waits for",
  ],
  "fees-high": [
    "courier",
    "warn",
    "chain",
    "withdrawals wait because the chain's fees are above maxFee",
    "wait, or raise maxFee",
  ],
  "gateway-unnamed": [
    "courier",
    "warn",
    "chain",
    "withdrawals wait because the gateway names no coin or no first slot of the account, or does not say that nothing pays them already",
    "ask the gateway's operator: its nodes of the chain are away, or show another chain",
  ],
  "adopt-needed": [
    "courier",
    "warn",
    "chain",
    "withdrawals wait because the account was used before, and only an operator says where it begins",
    "compare the count with a block explorer, then adopt",
  ],
  "currency-refused": [
    "courier",
    "error",
    "currency",
    "the token's contract refuses every transfer of the hot wallet: its withdrawals wait",
    "ask the token's issuer: it is paused, or it has blocked the hot wallet",
  ],
  "agent-locked": [
    "courier, gateway",
    "error",
    "agent",
    "the agent locked itself, see `code`: nothing is signed",
    "docs/recovering.md, by `code`",
  ],
  "network-stopped": [
    "courier",
    "error",
    "chain",
    "the account paid by a transaction that nothing here signed: no first payment is signed on that chain",
    "pause, compare the transaction, move the funds; then resume --network CHAIN",
  ],
  "currency-stopped": [
    "courier",
    "error",
    "currency",
    "a final payment in the currency moved something else than was asked for: no first payment is signed in it",
    "look at the transaction; once it is clear why, resume --currency ID",
  ],
  "recovery-offered": [
    "courier",
    "warn",
    "agent",
    "the gateway offers a recovery: nothing is signed before it is taken",
    "look at it with recover",
  ],
  "disk-room-low": [
    "courier, gateway",
    "error",
    "ledger, or database",
    "the disk of the ledger, or of the gateway's database, is full or will be soon, see `freeBytes`",
    "make room",
  ],
  "link-down": [
    "courier",
    "warn",
    "gateway",
    "the link to the gateway is down for `notify.awayMinutes`",
    "see status; is the gateway up?",
  ],
  "nodes-away": [
    "courier, gateway",
    "warn",
    "chain",
    "too few nodes of a chain can be used, or its newest block is too old, for `notify.awayMinutes` or `alerts.agentAwayMinutes`",
    "see status, or the gateway's health; add a node",
  ],
  "node-poor": [
    "courier, gateway",
    "warn",
    "chain and node",
    "one node of a chain is out, lags or stands still for as long, and the others are enough",
    "look at this node, or name another one",
  ],
  "chain-late": [
    "courier, gateway",
    "warn",
    "chain and code",
    "a chain's final block stands still while new blocks come, or too few nodes keep blocks that are still to be read, for as long; see `code`",
    "wait, or name better nodes; status, or the gateway's health, says which blocks",
  ],
  "funds-low": [
    "courier",
    "warn",
    "currency",
    "the hot wallet has less than `notify.lowFunds` says",
    "fund the account",
  ],
  "config-differs": [
    "courier",
    "warn",
    "config",
    "signer and courier go by two versions of config.json",
    "restart both",
  ],
  "gateway-down": [
    "gateway",
    "error",
    "gateway",
    "the gateway does not run, or ends again and again, see `code`",
    "systemctl status autowithdraw-gateway, then autowithdraw-gateway check",
  ],
  "agent-away": [
    "gateway",
    "warn",
    "agent",
    "an agent has had no link for `alerts.agentAwayMinutes`",
    "ask its operator for status",
  ],
  "wal-large": [
    "gateway",
    "error",
    "database",
    "another process keeps an old state of the database open, and its write-ahead file grows",
    "end the process that the message names; status shows the file's size",
  ],
  "clock-wrong": [
    "gateway",
    "error",
    "clock",
    "the clock of the gateway's machine is wrong: every chain that is read says another time, and nothing ends by time",
    "set the clock by NTP: timedatectl set-ntp true",
  ],
  "certificate-ends": [
    "gateway",
    "error",
    "certificate",
    "the gateway's certificate ends within two weeks, or has ended",
    "renew it, then systemctl reload autowithdraw-gateway",
  ],
  "currency-out": [
    "gateway",
    "error",
    "currency",
    "a currency is out of service: its contract does not confirm its decimals",
    "look at its contract and decimals in the configuration: currencies",
  ],
  "item-fault": [
    "gateway",
    "error",
    "domain, network, merchant and code",
    "an address, a hot wallet, a currency, a withdrawal or a transaction has not been read for ten minutes, a transaction at once; all others go on",
    "faults lists it with its words",
  ],
  "price-stale": [
    "gateway",
    "warn",
    "currency and fiat",
    "no two sources have agreed on a price for fifteen minutes: quotes are refused",
    "see why: prices; type a price meanwhile, if quotes are needed",
  ],
  "callbacks-failing": [
    "gateway",
    "warn",
    "callback target",
    "a merchant's server has taken no event for an hour",
    "callbacks deliveries --callback ID shows its answers; tell the merchant",
  ],
  "withdrawals-waiting": [
    "gateway",
    "warn",
    "merchant",
    "a merchant's withdrawals have waited for an hour, see `stage`",
    "withdrawals list --merchant ID --status 0, then withdrawals show ID",
  ],
  "payouts-unplaced": [
    "gateway",
    "error",
    "network",
    "orders wait because their chain is not read up to its newest block since the gateway was started, see `count`",
    "see the gateway's status and its check; the orders go on by themselves once the chain is read",
  ],
  "sweeps-stuck": [
    "gateway",
    "warn",
    "sweeps",
    "sweeps or top-ups contradict the chain and wait for an operator",
    "sweeps list --status 0 --stage stuck",
  ],
  "gateway-silent": [
    "gateway",
    "warn",
    "name of the gateway",
    "one of the gateways on the database has not been seen for 15 seconds",
    "autowithdraw-gateway cluster lists them: start it again, or see why its machine is away",
  ],
  alarm: [
    "gateway",
    "error",
    "code and subject",
    "an alarm was recorded, see `code`; it does not end by itself",
    "look `code` up in docs/errors.md",
  ],
});

export type AlertName = keyof typeof alertTable;
