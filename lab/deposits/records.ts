/** The records of the gateway's database, read from copies of it while the gateway runs. */
import { join } from "node:path";
import { askCopy } from "../faults/gateway-folder.ts";

/** A deposit request, a sweep or a top-up. */
export interface RecordRow {
  readonly id: string;
  readonly operation: "deposit" | "sweep" | "topup";
  readonly status: 0 | 1 | 2;
  readonly stage: string;
  readonly code: string;
  readonly late: 0 | 1;
  readonly currency: string;
  readonly units: string;
  readonly payer: string; // "" of a request
  readonly txHash: string;
}

export interface CreditRow {
  readonly address: string;
  readonly currency: string;
  readonly units: string;
  readonly final: 0 | 1;
}

export interface UnsweptBalanceRow {
  readonly address: string;
  readonly currency: string;
  readonly units: string;
}

/** An account of the journal with the sum of all its moves. */
export interface JournalAccountRow {
  readonly address: string;
  readonly currency: string;
  readonly kind: "hot" | "deposit";
  readonly units: string;
}

export class GatewayRecords {
  readonly #database: string;

  constructor(dir: string) {
    this.#database = join(dir, "gateway", "gateway.db");
  }

  now(): readonly RecordRow[] {
    return askCopy(
      this.#database,
      `SELECT id, 'deposit' AS operation, status, stage, coalesce(code, '') AS code, late, currency, coalesce(units, '0') AS units,
         '' AS payer, coalesce(txHash, '') AS txHash FROM deposits
       UNION ALL SELECT t.id, t.operation, t.status, t.stage, coalesce(t.code, ''), 0, coalesce(t.currency, u.sweptCurrency), t.units,
         t.payer, coalesce(t.txHash, '') FROM transfers t LEFT JOIN topUps u ON u.id = t.id WHERE t.operation <> 'withdraw'`,
    );
  }

  unsweptBalances(): readonly UnsweptBalanceRow[] {
    const sql = "SELECT address, currency, units, heldUnits FROM accounts WHERE kind = 'deposit'";
    const rows = askCopy<UnsweptBalanceRow & { readonly heldUnits: string }>(this.#database, sql);
    return rows.map(({ address, currency, units, heldUnits }) => ({
      address,
      currency,
      units: (BigInt(units) - BigInt(heldUnits)).toString(),
    }));
  }

  accounts(): readonly JournalAccountRow[] {
    return askCopy(this.#database, "SELECT address, currency, kind, units FROM accounts");
  }

  /** Every payment that was credited, but for what the wallet sent to itself. */
  credits(): readonly CreditRow[] {
    return askCopy(this.#database, "SELECT address, currency, units, final FROM payments");
  }

  /** Why what lies on an address stays there. */
  notes(): readonly {
    readonly address: string;
    readonly currency: string;
    readonly reason: string;
  }[] {
    return askCopy(this.#database, "SELECT address, currency, reason FROM sweepNotes");
  }

  alarms(): readonly { readonly act: string; readonly subject: string; readonly detail: string }[] {
    return askCopy(
      this.#database,
      "SELECT act, subject, detail FROM audit WHERE actor = 'watcher'",
    );
  }
}
