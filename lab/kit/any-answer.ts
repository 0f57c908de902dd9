/** An answer of the signer to any verb, for tests that ask several. */
import type { FirstSlotView } from "../../agent/socket/first-slot.ts";
import type {
  AccountView,
  CourierAnswers,
  LedgerLine,
  OperatorView,
  SignerStatus,
  WaitView,
} from "../../agent/socket/verbs.ts";

/** Any verb's answer: the fields of all of them, of which those of its verb are there. */
export interface AnyAnswer
  extends Pick<
    CourierAnswers["hello"],
    "head" | "acked" | "nonce" | "handshakeDone" | "locked" | "accounts" | "open"
  > {
  readonly ok: boolean;
  readonly code: string;
  readonly detail: string;
  readonly effect: string;
  readonly withdrawal: OperatorView;
  readonly withdrawals: readonly OperatorView[];
  readonly account: AccountView;
  readonly frames: readonly Uint8Array[];
  readonly first: FirstSlotView;
  readonly status: SignerStatus;
  readonly history: readonly LedgerLine[];
  readonly wait: WaitView | null;
  readonly records: number;
  readonly segments: number;
}
