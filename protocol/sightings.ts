/**
 * A courier's question about coins, first slots and withdrawals, and the gateway's sightings that
 * answer it: the types and the strict readers of both. docs/protocol.md section 6.8.
 */
import { parseJson } from "../base/json.ts";
import { boolean, list, object, type Reader } from "../base/shape.ts";
import * as fields from "./fields.ts";

/** Most coins, and most accounts, of one question and of the sightings that answer it. */
export const sightedPerQuestionMax = 16;
/** Most withdrawals of one question and of the sightings that answer it. */
export const clearedPerQuestionMax = 64;

/**
 * The courier asks what the gateway's own nodes show of coins, accounts and withdrawals, at most
 * once a second. The gateway answers for the agent's hot wallets, for addresses with an open sweep
 * and for the agent's open withdrawals, and is silent about all else.
 */
export interface SightingsQuestion {
  readonly agent: string;
  readonly ledgerEpoch: number;
  readonly coins: readonly SightedCoin[];
  readonly accounts: readonly AskedAccount[];
  readonly orders: readonly string[]; // transaction ids
  readonly at: number;
}

/** An account, by its address. */
export interface AskedAccount {
  readonly network: string;
  readonly account: string;
}

/** A coin of an account: its id in the family's own spelling, and its amount in base units. */
export interface SightedCoin extends AskedAccount {
  readonly id: string;
  readonly units: string;
}

/** The next slot of an account by the agreed count of the gateway's nodes. */
export interface SightedSlot extends AskedAccount {
  readonly slot: string;
  readonly isUnused: boolean; // the account never sent a transaction, as these nodes agree
}

/**
 * The sightings of the gateway's own nodes. A coin is named if the transaction that made it is
 * final, pays exactly the account, and nothing that a node shows spends it. A withdrawal is named
 * if its wallet's chain was read far enough since the gateway's start and shows no payment that
 * nothing explains and that looks like it. Only for the run whose nonce they repeat.
 */
export interface Sightings {
  readonly agent: string;
  readonly ledgerEpoch: number;
  readonly answers: string; // Hello.nonce of this connection
  readonly coins: readonly SightedCoin[];
  readonly next: readonly SightedSlot[];
  readonly orders: readonly string[]; // transaction ids of withdrawals that nothing on the chain pays already
  readonly at: number;
}

const sightedCoin: Reader<SightedCoin> = object({
  network: fields.network,
  account: fields.account,
  id: fields.pin,
  units: fields.units,
});

const question: Reader<SightingsQuestion> = object({
  agent: fields.agent,
  ledgerEpoch: fields.ledgerEpoch,
  coins: list(sightedCoin, sightedPerQuestionMax),
  accounts: list(
    object({ network: fields.network, account: fields.account }),
    sightedPerQuestionMax,
  ),
  orders: list(fields.transactionId, clearedPerQuestionMax),
  at: fields.time,
});

const sightings: Reader<Sightings> = object({
  agent: fields.agent,
  ledgerEpoch: fields.ledgerEpoch,
  answers: fields.nonce,
  coins: list(sightedCoin, sightedPerQuestionMax),
  next: list(
    object({
      network: fields.network,
      account: fields.account,
      slot: fields.slot,
      isUnused: boolean(),
    }),
    sightedPerQuestionMax,
  ),
  orders: list(fields.transactionId, clearedPerQuestionMax),
  at: fields.time,
});

/** @throws AgentError JSON_* */
export function parseSightingsQuestion(payload: Uint8Array | string): SightingsQuestion {
  return question(parseJson(payload), "question");
}

/** @throws AgentError JSON_* */
export function parseSightings(payload: Uint8Array | string): Sightings {
  return sightings(parseJson(payload), "sightings");
}
