/** The seal of every ledger that a test makes, and one of another wallet's. */
import { LedgerSeal } from "../../agent/ledger/seal.ts";

export const testSeal = new LedgerSeal(new Uint8Array(32).fill(7));

export const outsidersSeal = new LedgerSeal(new Uint8Array(32).fill(8));
