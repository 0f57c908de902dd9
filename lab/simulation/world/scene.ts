/**
 * One simulated run as its parts see it: what each may ask of the machines, the chain, the fault
 * injector and the people. Types alone, so that no part imports the run that puts it together.
 */
import type { Answer, OperatorView, PushMessage } from "../../../agent/socket/verbs.ts";
import type { DurableLedger } from "../invariants/ledger.ts";
import type { Money } from "../invariants/money.ts";
import type { RequestRow } from "../invariants/request-ends.ts";
import type { MovedRow } from "../invariants/sweeps.ts";
import type { Violation } from "../invariants/violation.ts";
import type { Owner } from "../kernel/scheduler.ts";
import type { Machine } from "./agent.ts";
import type { ChainFixture, JudgedRun } from "./chain-fixture.ts";
import type { DriveFaults, ExposedDrives } from "./drive-faults.ts";
import type { Gateway } from "./gateway.ts";
import type { Network } from "./network.ts";
import type { DepositOrder, Order } from "./plan.ts";

export interface Scene extends JudgedRun, ExposedDrives {
  readonly chainFixture: ChainFixture;
  readonly net: Network;
  readonly gateway: Gateway;
  readonly machines: readonly Machine[];
  readonly payments: Money;
  readonly actors: Shop;
  readonly customers: Customers;
  readonly faultInjector: Faults;
  /** The operator who follows docs/recovering.md; null in runs without one. */
  readonly recoveryScenario: Rescuer | null;
  readonly takeover: NextServer;
  readonly observer: MessageObserver;
  addMachine(name: string, id: string, keySeed: number): Machine;
  machineOf(owner: Owner): Machine | undefined;
  ledgerOf(machine: Machine): DurableLedger;
  /** An operator takes records away that were durable. */
  forgets(machine: Machine, act: () => void): void;
  /** Something threw that nobody expected. */
  thrown(owner: Owner, error: unknown): void;
  /** Ends the run with the invariant that does not hold. */
  violated(violation: Violation): void;
}

/** The shop that orders, and the operator at the agent. */
interface Shop {
  readonly taken: ReadonlySet<string>;
  readonly untaken: readonly Order[];
  readonly unended: readonly { readonly id: string }[];
  readonly left: ReadonlySet<string>;
  ask(machine: Machine, verb: string, body: object, answered?: (answer: Answer) => void): void;
  approve(machine: Machine, view: OperatorView, never?: (code: string) => void): void;
  refuse(machine: Machine, view: OperatorView): void;
  cancel(machine: Machine, view: OperatorView): void;
  request(order: Order, amount: string): void;
  alter(order: Order): void;
  askAgain(): void;
  orderOnceMore(): void;
  orderNew(): void;
  orderAllAgain(): number;
  open(): string;
}

interface Customers {
  readonly paid: ReadonlyMap<string, DepositOrder>;
  readonly requests: readonly RequestRow[];
  open(): string;
}

interface Faults {
  readonly drives: DriveFaults;
  readonly backups: {
    readonly wasUsed: boolean;
    readonly wasLedgerAlone: boolean;
    readonly wasGatewayRestored: boolean;
    readonly wereBothRestored: boolean;
  };
  readonly mustSettle: boolean;
  readonly mayLock: boolean;
  readonly isDeceived: boolean;
  keep(raw: string): void;
}

interface Rescuer {
  readonly comparison: { reckonsWith(missed: number): void };
  readonly waits: string;
  readonly isBeyond: boolean;
  begin(): void;
  beginAgain(isAwaited: boolean): void;
}

interface NextServer {
  readonly next: Machine | null;
  readonly hasBegun: boolean;
  readonly isUnderWay: boolean;
  readonly isReleased: boolean;
  readonly isCatchUpSkipped: boolean;
  begin(): void;
}

interface MessageObserver {
  seen(machine: Machine, message: Answer | PushMessage): void;
  missingOf(id: string): string | undefined;
  forget(id: string): void;
  forgetJobs(id: string): void;
  moved(): readonly MovedRow[];
}
