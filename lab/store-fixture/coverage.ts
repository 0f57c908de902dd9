/**
 * The fixture must hold each kind, stage and state of the product's own tables; the gateway's
 * answers show whether it does. A new kind, stage or state without a record in the fixture is
 * named, unless a reason stands here.
 */
import { eventTypes } from "../../gateway/callbacks/events.ts";
import { type Stage, shopFlows } from "../../gateway/openapi/page.ts";
import type { DeliveryState } from "../../gateway/store/callback-deliveries.ts";
import type { Operation } from "../../protocol/identity.ts";
import type { JobMode } from "../../protocol/job-mode.ts";
import type { Answers } from "./questions.ts";

/** The stages of each kind; the compiler asks for those of a new one. */
const stagesOf: Readonly<Record<Operation, readonly Stage[]>> = {
  deposit: shopFlows.deposit.stages,
  withdraw: shopFlows.withdrawal.stages,
  sweep: shopFlows.withdrawal.stages,
  topup: shopFlows.withdrawal.stages,
};

const modes: Readonly<Record<JobMode, true>> = {
  auto: true,
  manual: true,
  sweep: true,
  topup: true,
};

const deliveryStates: Readonly<Record<DeliveryState, true>> = {
  waiting: true,
  delivered: true,
  "given up": true,
};

/** Acts and alarms of the audit table, each of a way in which a record changes. */
const acts: readonly string[] = [
  ...[
    "payment credited",
    "deposit credited",
    "payment assigned",
    "note",
    "sweep ordered",
    "attempt void",
    "difference taken in",
  ],
  ...[
    "database restored",
    "addresses watched",
    "agent unpaired",
    "agent recovery begun",
    "merchant switched off",
    "key revoked",
  ],
  ...[
    "alarm WATCHER_PAYMENT_FAILED",
    "alarm WATCHER_OUTGOING_FOREIGN",
    "alarm WATCHER_SLOT_CONSUMED",
    "alarm SWEEP_UNREACHABLE",
  ],
  ...[
    "alarm BOOKS_DIFFERENCE",
    "alarm CALLBACK_OFF",
    "alarm LEDGER_FORKED",
    "callback removed",
    "callback sent again",
  ],
];

/** Codes of failed withdrawals, each an end of another kind. */
const codes: readonly string[] = [
  ...["JOB_EXPIRED", "POLICY_DENIED", "OPERATOR_REFUSED", "SHOP_CANCELLED"],
  ...["chain_reverted", "chain_slot_consumed", "cancelled", "deposit_expired", "SWEEP_UNREACHABLE"],
];

const others: readonly string[] = [
  ...[
    "a deposit that no order made",
    "a deposit that was paid late",
    "a deposit with a tag",
    "a deposit of an ended order again",
  ],
  ...[
    "a withdrawal of an ended order again",
    "a withdrawal with a tag",
    "a withdrawal that pays a deposit back",
  ],
  ...[
    "a record whose currency left the configuration",
    "a difference in the books",
    "a note in the books",
  ],
  ...[
    "the beginning of a hot wallet's books",
    "a merchant without an agent",
    "a reason why an address is not swept",
  ],
  ...["evm", "tron", "xrp", "bitcoin"].map((family) => `a record on ${family}`),
];

/** Names that the fixture lacks, each with the reason. */
export const lacking: Readonly<Record<string, string>> = Object.fromEntries(
  [
    "deposit 0 unconfirmed",
    "deposit 2 reorged",
    "deposit 2 cancelled",
    ...["withdraw", "sweep", "topup"].map((kind) => `${kind} 0 awaiting_operator`),
    "event deposit.revoked",
    ...["chosen", "completed", "expired", "cancelled", "revoked", "exception"].map(
      (end) => `event invoice.${end}`,
    ),
  ].map((name) => [name, "a stage or an event that came after the tree which made it"]),
);

/** Everything that must be there. */
export function needed(): readonly string[] {
  return [
    ...Object.entries(stagesOf).flatMap(([kind, stages]) =>
      stages.map(({ name, status }) => `${kind} ${status} ${name}`),
    ),
    ...Object.keys(modes).map((mode) => `mode ${mode}`),
    ...Object.keys(deliveryStates).map((state) => `delivery ${state}`),
    ...eventTypes.map((type) => `event ${type}`),
    ...acts.map((act) => `act ${act}`),
    ...codes.map((code) => `code ${code}`),
    ...others,
  ];
}

interface ShownRecord {
  readonly transactionType: 1 | 2;
  readonly status: number;
  readonly stage: string;
  readonly code: string;
  readonly mode?: string;
  readonly orderId: string;
  readonly tag: string;
  readonly network: string;
  readonly currency: string;
  readonly late?: boolean;
  readonly renews?: string;
  readonly refundOf?: string;
}

const families: Readonly<Record<string, string>> = {
  eip155: "evm",
  tron: "tron",
  xrpl: "xrp",
  bip122: "bitcoin",
};

function ofRecord(record: ShownRecord, goneCurrency: string): readonly string[] {
  const isDeposit = record.transactionType === 1;
  const kind = isDeposit ? "deposit" : "withdrawal";
  const said = [
    [`${isDeposit ? "deposit" : "withdraw"} ${record.status} ${record.stage}`, true],
    [`mode ${record.mode ?? ""}`, !isDeposit],
    [`code ${record.code}`, record.code !== ""],
    [`a ${kind} with a tag`, record.tag !== ""],
    [`a ${kind} of an ended order again`, record.renews !== undefined],
    ["a deposit that no order made", record.orderId.startsWith("unattributed/")],
    ["a deposit that was paid late", record.late === true],
    ["a withdrawal that pays a deposit back", record.refundOf !== undefined],
    ["a record whose currency left the configuration", record.currency === goneCurrency],
    [`a record on ${families[record.network.split(":")[0] ?? ""]}`, true],
  ] as const;
  return said.filter(([, is]) => is).map(([name]) => name);
}

/** The JSON that a command printed. */
function printed<T>(answers: Answers, command: string): T {
  const lines = answers.get(`$ gateway ${command}`) ?? [];
  return JSON.parse(lines[1] ?? "null") as T;
}

interface ListedSweep {
  readonly kind: "sweep" | "topup";
  readonly status: number;
  readonly stage: string;
  readonly code: string;
}

interface ListedBooks {
  readonly differences: readonly object[];
  readonly entries: readonly { readonly kind: string }[];
}

/** Everything that is there, by the answers. */
export function held(answers: Answers, goneCurrency: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [question, lines] of answers) {
    if (question.includes(": record ") && lines[0] === "200")
      for (const name of ofRecord(JSON.parse(lines[1] ?? "") as ShownRecord, goneCurrency))
        found.add(name);
    if (!question.endsWith("/api/v1/events?after=0&limit=500") || lines[0] !== "200") continue;
    const { events } = JSON.parse(lines[1] ?? "") as {
      readonly events: readonly { readonly type: string }[];
    };
    for (const { type } of events) found.add(`event ${type}`);
  }
  const { sweeps, waiting } = printed<{
    sweeps: readonly ListedSweep[];
    waiting: readonly object[];
  }>(answers, "sweeps list --limit 10000 --json");
  for (const { kind, status, stage, code } of sweeps)
    for (const name of [`${kind} ${status} ${stage}`, `mode ${kind}`, `code ${code}`])
      found.add(name);
  if (waiting.length > 0) found.add("a reason why an address is not swept");
  for (const { state } of printed<readonly { readonly state: string }[]>(
    answers,
    "callbacks deliveries --limit 10000 --json",
  ))
    found.add(`delivery ${state}`);
  for (const { act } of printed<readonly { readonly act: string }[]>(
    answers,
    "audit --limit 10000 --json",
  ))
    found.add(`act ${act}`);
  for (const { code } of printed<readonly { readonly code: string }[]>(
    answers,
    "alarms --limit 10000 --json",
  ))
    found.add(`act alarm ${code}`);
  const { chains } = printed<{ readonly chains: readonly ListedBooks[] }>(
    answers,
    "reconcile --last --json",
  );
  if (chains.some(({ differences }) => differences.length > 0))
    found.add("a difference in the books");
  const entries = new Set(chains.flatMap((one) => one.entries.map(({ kind }) => kind)));
  if (entries.has("note")) found.add("a note in the books");
  const report = answers.get("$ gateway report --month 2026-01") ?? [];
  if (report.some((line) => line.includes("brought in")))
    found.add("the beginning of a hot wallet's books");
  const merchants = printed<readonly { readonly agentId: string }[]>(
    answers,
    "merchant list --json",
  );
  if (merchants.some(({ agentId }) => agentId === "")) found.add("a merchant without an agent");
  return found;
}
