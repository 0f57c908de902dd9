/**
 * The tests that only the long tier runs. Each row names the test of the quick tier that holds the
 * same claim: nothing is left out of `npm test` that no other test of it shows.
 */

/** A file, or tests of it by title. */
export interface LongRow {
  /** Test file below test/, without ".test.ts". */
  readonly file: string;
  /**
   * Beginnings of the names of the tests, "heading > title" without a repeated heading; absent: the
   * whole file.
   */
  readonly titles?: readonly string[];
  /** File, and name or its beginning, of a test of the quick tier that holds the claim. */
  readonly twin: { readonly file: string; readonly title: string };
  /** Reason for which the twin is enough in `npm test`. */
  readonly why: string;
}

export const longRows: readonly LongRow[] = [
  {
    file: "system/crash",
    twin: {
      file: "system/faults",
      title: "faults on real processes > a short share of each holds",
    },
    why: "the same runner with kills at system calls; moments of chance are `npm run faults -- --moments`",
  },
  {
    file: "system/recovery-process",
    titles: [
      "recovery > a new ledger",
      "recovery > a gateway restored",
      "recovery > a recovery of both sides",
    ],
    twin: { file: "system/recovery-process", title: "recovery > a ledger restored from a backup" },
    why: "the first case runs the commands and the processes; the others are the signer's and the hub's own tests in process",
  },
  {
    file: "system/rollback",
    twin: { file: "signer/recovered", title: "an agent that was rolled back > locks" },
    why: "the lock is the signer's, and the first case of recovery-process meets it with real processes",
  },
  {
    file: "system/both-restored-process",
    twin: {
      file: "gateway/payout-holds",
      title: "an order > that asks for what its wallet paid already is held with an alarm",
    },
    why: "the rule is the gateway's and is judged on its rows; real processes are restored and asked again here",
  },
  {
    file: "system/takeover-process",
    twin: {
      file: "signer/takeover",
      title:
        "a release without catching up > a release of an agent that has not caught up frees nothing",
    },
    why: "the rules are the store's; the long tier moves two real servers",
  },
  {
    file: "system/sweeps-process",
    twin: {
      file: "system/tron-deposits-process",
      title: "a gateway with a chain of Tron > completes deposits in TRX and USDT",
    },
    why: "the demo sweeps and pays out again; kills on the way are the deposits' run and the simulator",
  },
  {
    file: "system/moved-process",
    twin: {
      file: "watcher/watcher-moved",
      title:
        "withdrawals moved > ends it as Failed by another amount: the reservation ends, the agent is to hear it, and the books have what moved",
    },
    why: "the rules of both sides are the gateway's and the signer's own tests; two real servers wait a minute for each other here",
  },
  {
    file: "system/commands-process",
    twin: {
      file: "gateway/gateway-commands",
      title: "transcripts of the gateway's operator > transcripts of the gateway's operator: ",
    },
    why: "transcripts and cli-json type the same commands on rows and answers that a test has made; both programs make them here",
  },
  {
    file: "system/deposit-commands-process",
    twin: {
      file: "gateway/gateway-commands",
      title: "transcripts of the gateway's operator > transcripts of the gateway's operator: ",
    },
    why: "the transcripts reorged, faults and mistakes type the same commands on rows that a test has made; chains and a gateway make them here",
  },
  {
    file: "system/deposits",
    twin: {
      file: "system/tron-deposits-process",
      title: "a gateway with a chain of Tron > completes deposits in TRX and USDT",
    },
    why: "a real gateway credits through a replaced block and kill -9 there; each family's reader has its own tests",
  },
  {
    file: "system/utxo-process",
    titles: ["an agent with a chain of litecoin"],
    twin: { file: "system/utxo-process", title: "an agent with a chain of bitcoin" },
    why: "Litecoin is Bitcoin's code with other numbers",
  },
  {
    file: "system/xrp-process",
    titles: [
      "an agent with a chain of XRP > offers again",
      "an agent with a chain of XRP > an operator's cancel",
      "an agent with a chain of XRP > pays a receiver whose account begins",
      "an agent with a chain of XRP > the books agree",
    ],
    twin: {
      file: "system/xrp-process",
      title: "an agent with a chain of XRP > pays out with and without a tag",
    },
    why: "one payout and one deposit by real processes stay; offers, cancels and fates are tests of the family in process",
  },
  {
    file: "system/tron-payouts-process",
    titles: ["an agent with a chain of Tron > a payment that expired"],
    twin: {
      file: "system/tron-payouts-process",
      title: "an agent with a chain of Tron > pays TRX and a token once",
    },
    why: "the second attempt is the signer's, in signer/expiry-exclusion and courier/scheduler-expiry",
  },
  {
    file: "system/many-chains",
    twin: {
      file: "system/node-health-process",
      title: "a node that stands still is named by /ready",
    },
    why: "it compares two paces by the clock, which a run beside others cannot",
  },
  {
    file: "system/operators-night",
    twin: { file: "system/recovery-process", title: "recovery > a ledger restored from a backup" },
    why: "a booted machine of its own, for minutes",
  },
  {
    file: "install/runtime",
    twin: {
      file: "install/engines",
      title: "the Node of the agent > Node is the one that package.json names",
    },
    why: "it brings other versions of Node; `npm run nodes` is a command of its own",
  },
  {
    file: "install/runtime-coins",
    twin: {
      file: "install/engines",
      title: "the Node of the agent > Node is the one that package.json names",
    },
    why: "it brings other versions of Node; `npm run nodes` is a command of its own",
  },
  {
    file: "install/install-image",
    twin: {
      file: "install/install-plan",
      title: "in an image > the plan for an image puts files in place",
    },
    why: "the plan is the same; the long tier carries it out in a folder",
  },
  {
    file: "examples/testnets-process",
    twin: {
      file: "examples/testnets",
      title: "the configurations of examples/testnets > the placeholders are",
    },
    why: "the commands are those of the demo, which `.ci/run` plays",
  },
  {
    file: "system/simulation",
    titles: [
      "the simulator > makes a failing run small",
      "the simulator > catches a ledger that does not wait",
      "the simulator > catches a disk whose failures",
    ],
    twin: { file: "system/simulation", title: "the simulator > catches a gate that opens" },
    why: "one planted bug shows that the hunt works; `simulate --mutants` plants each",
  },
  {
    file: "system/simulation",
    titles: ["the simulator > finds nothing in four hundred runs"],
    twin: {
      file: "system/simulation",
      title: "the simulator > finds nothing in the seeds that once",
    },
    why: "the same code on kept seeds and on a seed of each world; the command's processes are the laboratory's own",
  },
  {
    file: "system/simulation",
    titles: ["the simulator > does the same again"],
    twin: {
      file: "system/simulation",
      title: "the simulator > runs a seed the same way after other seeds",
    },
    why: "one process shows that a seed alone decides a run; the number of processes is the laboratory's own",
  },
  {
    file: "launcher/launcher",
    titles: ["crypto > starts the signer and the courier again"],
    twin: {
      file: "system/xrp-process",
      title: "an agent with a chain of XRP > pays out with and without a tag",
    },
    why: "courier and signer are killed there and pay out afterwards; each end's own words are the supervisor's tests",
  },
  {
    file: "cli/crypto-check",
    titles: ["crypto --check: a token with other decimals"],
    twin: { file: "cli/doctor", title: "doctor finds > a token with other decimals" },
    why: "the same question of the same module; a node of another chain still goes the whole way of the program",
  },
  {
    file: "cli/crypto-check",
    titles: ["crypto --check: a node that is away"],
    twin: { file: "cli/doctor", title: "doctor finds > a node that is away" },
    why: "the same question of the same module; a node of another chain still goes the whole way of the program",
  },
  {
    file: "system/mutants",
    titles: ["the mutants > name nothing that is not there"],
    twin: { file: "system/mutants", title: "the mutants > the mutants: " },
    why: "one program of all sources; that each patch still fits its file stays",
  },
  {
    file: "signer/checkpoint-growth",
    titles: ["a checkpoint after 6,300 closed orders"],
    twin: {
      file: "signer/checkpoint-growth",
      title: "a checkpoint grows no faster than the orders",
    },
    why: "the bound is in proportion; the long tier goes to where it is full",
  },
  {
    file: "books/million-moves",
    titles: ["a closing after a thousand moves reads them alone, with a million before"],
    twin: {
      file: "books/million-moves",
      title: "a closing after a thousand moves reads them alone, with few before",
    },
    why: "the bound is the same; the long tier has the history that it must not depend on",
  },
  {
    file: "system/random-commands",
    titles: ["random commands > reach every kind"],
    twin: {
      file: "system/random-commands",
      title: "random commands > keep every safety invariant",
    },
    why: "it needs long lives to reach each kind; the lives themselves stay",
  },
  {
    file: "pairing/pairing",
    titles: [
      "a first pairing > prints one line of JSON",
      "a first pairing > takes encKey out of config.json too",
      "a first pairing > takes every secret from files",
    ],
    twin: { file: "pairing/pairing", title: "a first pairing > seals, registers" },
    why: "each pairing is six programs; the same pairing from config.json, with all that it leaves, stays",
  },
  {
    file: "pairing/pairing-again",
    titles: [
      "a second run > takes secrets out again",
      "a second run > goes on without the mnemonic",
    ],
    twin: { file: "pairing/pairing-again", title: "a second run > says so and changes nothing" },
    why: "each pairing is six programs; that a second run changes nothing, and its refusals, stay",
  },
  {
    file: "pairing/pairing-again",
    titles: [
      "a pairing that was cut > registers the same keys again",
      "a pairing that was cut > does not ask the gateway again",
      "a pairing that was cut > is paired, and says what is left",
    ],
    twin: {
      file: "pairing/pairing-again",
      title: "a pairing that was cut > keeps the sealed keystore",
    },
    why: "each pairing is six programs; one cut that goes on with the same keys, and the lost progress, stay",
  },
  {
    file: "gateway/client-package",
    titles: ["the client's package > has types for"],
    twin: { file: "gateway/client-package", title: "the client's package > is fine to publint" },
    why: "four runs of the compiler; the installation, the entries and the check of the package stay",
  },
  {
    file: "gateway/generated-clients",
    titles: ["the generated clients > the compiler takes"],
    twin: { file: "gateway/generated-clients", title: "the generated clients > the client of" },
    why: "a run of the compiler; every call of the description by both clients stays",
  },
  {
    file: "system/fuzz",
    titles: ["a campaign > finds a mistake behind four bytes"],
    twin: { file: "system/fuzz", title: "a campaign > finds nothing where nothing is wrong" },
    why: "a test of the laboratory's own campaign, which changes with lab/fuzz alone; the corpora stay",
  },
  {
    file: "system/fuzz-growth",
    twin: { file: "system/fuzz", title: "%s > a fuzz target takes its corpus" },
    why: "steps of every target at several sizes, a minute of them; foreign-text holds the readers' times",
  },
  {
    file: "system/steps-process",
    titles: ["kills at the steps of a payout > "],
    twin: {
      file: "system/faults",
      title: "faults on real processes > a short share of each holds",
    },
    why: "kills of real processes at system calls stay; plan, ledger and judge of the steps stay too",
  },
  {
    file: "system/restored-process",
    titles: ["both sides of real processes, restored > "],
    twin: {
      file: "gateway/payout-holds",
      title: "an order > that asks for what its wallet paid already is held with an alarm",
    },
    why: "the rules are the gateway's and the signer's; plan, judge and chains of the stream stay",
  },
  {
    file: "system/gateways-process",
    titles: ["two gateways on one PostgreSQL, under faults > "],
    twin: {
      file: "gateway/shared-database",
      title: "gateways on one database > lets a standby answer GET",
    },
    why: "a kill, a freeze and a failover of real processes stay; plan and judge of the stream stay too",
  },
  {
    file: "system/bench",
    titles: ["a few orders go the whole path"],
    twin: {
      file: "system/xrp-process",
      title: "an agent with a chain of XRP > pays out with and without a tag",
    },
    why: "orders go the whole path in each family's process test; the bench itself is a command",
  },
  {
    file: "system/bench",
    titles: ["gateways with few and with more agents"],
    twin: { file: "watcher/growth", title: "an idle pass > costs questions, statements and rows" },
    why: "the costs of an idle pass are held there without a process; the bench itself is a command",
  },
  {
    file: "chains/made-up-family",
    titles: [
      "a made-up family of chains > compiles with",
      "a made-up family of chains > without its",
    ],
    twin: {
      file: "chains/made-up-family",
      title: "a made-up family of chains > a patch fails where",
    },
    why: "the compiler reads the whole product; that each line still fits its table stays",
  },
  {
    file: "chains/made-up-network",
    twin: { file: "chains/family", title: "address spaces > have the names of configurations" },
    why: "the compiler reads and translates the whole product; that the names come from the table stays",
  },
  {
    file: "install/release-archive",
    titles: [
      "the packages of a release > are taken by npm ci",
      "the archive > is the same, byte for byte",
    ],
    twin: {
      file: "install/release-archive",
      title: "the packages of a release > are the agent's production packages",
    },
    why: "a second build and a fresh installation; content, checksum and signature stay",
  },
  {
    file: "launcher/started",
    titles: [
      "installing and building > brings the compiler under NODE_ENV",
      "installing and building > brings the compiler under omit",
      "installing and building > brings the compiler under only",
      "installing and building > brings the compiler under dry-run",
      "installing and building > brings the compiler under package-lock-only",
      "installing and building > brings the compiler under location",
    ],
    twin: {
      file: "launcher/started",
      title: "installing and building > brings the compiler under %s",
    },
    why: "each is npm and a build; one run under all six settings at once, each of which would spoil it, stays",
  },
];

/** A title without the words of its heading, where it repeats them. */
export function withoutHeading(heading: string, title: string): string {
  return heading !== "" && title.startsWith(`${heading} `)
    ? title.slice(heading.length + 1)
    : title;
}

/**
 * Tests of the checkers themselves, which change with scripts/ alone: `npm run check` runs them
 * (scripts/check-checkers.js), and so does the long tier.
 */
export const checkerFiles: readonly string[] = [
  "gateway/sql",
  "gateway/sums",
  "system/audit-path",
  "system/commits",
  "system/prose",
  "system/prose-words",
  "system/sizes",
  "system/suite-command",
  "system/type-names",
  "system/walls",
  "system/words",
];

const beginnings = new Map<string, string[]>();
for (const { file, titles = [] } of longRows)
  beginnings.set(file, [...(beginnings.get(file) ?? []), ...titles]);

/** Whether a test, by its name, is one that only the long tier runs. */
export function isLongOnly(file: string, name: string): boolean {
  return beginnings.get(file)?.some((beginning) => name.startsWith(beginning)) ?? false;
}
