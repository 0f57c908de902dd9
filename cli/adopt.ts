/**
 * `adopt`: an operator's yes to the first slot of an account whose transactions the chain has
 * already counted. Shows the nodes' counts and the effect of a yes; the signer begins only if both
 * give the same number.
 */

import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import type { FirstSlotView } from "../agent/socket/first-slot.ts";
import { agentEnds } from "../agent/state-ends.ts";
import { AgentError } from "../base/fault.ts";
import { jsonText } from "../base/visible.ts";
import { saySlot } from "../chains/families.ts";
import { slotWord } from "../chains/several-networks.ts";
import { typedEnd } from "./command-hint.ts";
import { askOperator } from "./operator.ts";
import { fieldLines, type Terminal } from "./terminal.ts";

export interface AdoptOptions {
  readonly yes?: string | undefined; // the slot that was shown
  readonly address?: string | undefined; // for deposits, the address of a sweep
  readonly json?: boolean | undefined;
}

/**
 * @throws AgentError with the signer's code for a no; COMMAND_USAGE, COMMAND_DECLINED,
 * COMMAND_DAEMON_AWAY
 */
export async function runAdopt(
  state: StateFolder,
  chain: string,
  options: AdoptOptions,
  terminal: Terminal,
): Promise<number> {
  const of = options.address === undefined ? { chain } : { chain, address: options.address };
  const { first } = await askOperator(state, "adopt", { ...of, slot: "" });
  if (options.json !== true) terminal.out(describe(first));
  if (first.isBegun) return done(first, options, terminal, "nothing to adopt");
  if (first.counted === "") {
    throw new AgentError(
      "ACCOUNT_NOT_ADOPTED",
      "none",
      "the nodes have not agreed on a count yet",
      {
        hint: "wait until the gateway's link is up and the nodes answer: status",
      },
    );
  }
  if (first.adopted === first.counted) return done(first, options, terminal, "nothing to adopt");
  const slot = options.yes ?? first.counted;
  if (options.yes === undefined) await confirmed(first, terminal);
  const answer = await askOperator(state, "adopt", { ...of, slot });
  return done(
    answer.first,
    options,
    terminal,
    `adopted: the first withdrawal gets ${saySlot(first.network, slot)}`,
  );
}

async function confirmed(
  { chain, network, counted }: FirstSlotView,
  terminal: Terminal,
): Promise<void> {
  if (!terminal.isInteractive) {
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      "adopt asks for a yes on a terminal, and this is none",
      {
        hint: `when a block explorer counts as many: ${typedEnd(agentEnds.courier.firstSlot, { CHAIN: chain })} --yes ${counted}`,
      },
    );
  }
  if (!(await terminal.confirm(`begin at ${saySlot(network, counted)}? (yes/no) `)))
    throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
}

function describe({
  chain,
  network,
  account,
  adopted,
  isBegun,
  counted,
  quorum,
}: FirstSlotView): string {
  const begins =
    adopted === ""
      ? "not known yet"
      : isBegun
        ? `${adopted}, and payments were made`
        : `${adopted}, not used yet`;
  const says =
    counted === ""
      ? "nothing yet"
      : `${saySlot(network, counted)} next (${quorum} nodes, as the courier says)`;
  const word = slotWord([network]);
  const rows = [
    ["chain", `${chain} (${network})`],
    ["account", account],
    [`begins at ${word}`, begins],
    ["nodes count", says],
  ] as const;
  const warning = [
    `compare the count with a block explorer: a first ${word} above the true count`,
    "holds up every payment of this account. Where an earlier ledger of this wallet",
    "exists, or this one was restored from a copy, do not adopt: docs/recovering.md",
  ];
  return `${fieldLines(rows)}\n${isBegun ? "" : `\n${warning.join("\n")}\n`}`;
}

function done(
  first: FirstSlotView,
  options: AdoptOptions,
  terminal: Terminal,
  text: string,
): number {
  terminal.out(options.json === true ? `${jsonText({ ok: true, first })}\n` : `${text}\n`);
  return exitCodes.fine;
}
