/** The result of `pair` as an operator or a script sees it. */
import { findConfigFile } from "../../agent/config/location.ts";
import {
  exitCodes,
  exitVerdictOfError,
  formatExitVerdict,
} from "../../agent/launcher/exit-status.ts";
import { AgentError, invariant } from "../../base/fault.ts";
import { formatTerminalSafeJson, shellWord } from "../../base/visible.ts";
import { findSecretCopies, type SecretCopy } from "../config-copies.ts";
import { fieldLines, type Terminal } from "../terminal.ts";
import { agentStartCommand } from "../unit-names.ts";
import { type PairOptions, type PairResult, pairAgent } from "./pair.ts";
import { accountsFor } from "./transcript-fields.ts";

/** Pairs, and prints the result. @throws AgentError as `pair` */
export async function runPair(options: PairOptions, terminal: Terminal): Promise<number> {
  const result = await pairAgent(options, terminal, process.env.CREDENTIALS_DIRECTORY);
  const left =
    result.kept.length === 0 ? null : exitVerdictOfError(secretsKept(result.kept, terminal));
  const { code, message, hint } = left ?? {};
  const copies = findSecretCopies(findConfigFile(options.config));
  if (options.json === true)
    terminal.out(`${formatTerminalSafeJson({ ...asJson(result), copies, code, message, hint })}\n`);
  else terminal.out(asText(result));
  for (const copy of copies) terminal.err(copyLines(copy));
  if (left === null) return exitCodes.fine;
  terminal.err(formatExitVerdict(left, "pair"));
  return left.exitCode;
}

function copyLines({ path, secrets }: SecretCopy): string {
  const word = shellWord(path) ?? "that file, by hand";
  return `pair: ${path} is a copy of config.json and still holds ${secrets.join(", ")}\nhint: shred -u ${word}\n`;
}

function secretsKept(kept: PairResult["kept"], { isInteractive }: Terminal): AgentError {
  const why = isInteractive ? "nobody said" : "there is no terminal to ask";
  const message = `this server is paired, but config.json still holds ${kept.join(" and ")}: ${why} whether the mnemonic is written down`;
  const how = isInteractive ? "again and answer yes" : "again with the same options and --yes";
  const hint = `write the mnemonic down, then run pair ${how}: it does only what is left`;
  return new AgentError("PAIRING_SECRETS_KEPT", "none", message, { hint });
}

function asJson({ progress, state, alreadyPaired, kept }: PairResult): object {
  const { granted, wallet, networks, currencies, gatewayUrl } = progress;
  invariant(granted !== null, "a result is given only after the grant");
  return {
    ok: kept.length === 0,
    alreadyPaired,
    kept,
    shortCode: granted.shortCode,
    agent: granted.agent,
    merchant: granted.merchant,
    ledgerEpoch: granted.ledgerEpoch,
    wallet: wallet.wallet,
    accounts: wallet.accounts,
    networks,
    currencies: currencies.map(({ id }) => id),
    gatewayUrl,
    state: state.root,
  };
}

/**
 * The short command of an installed agent sets its state folder; in that case the units run the
 * agent.
 */
function startCommand(installedState: string | undefined): string {
  return (installedState ?? "") === "" ? "node crypto.js" : agentStartCommand;
}

function asText({ progress, state, alreadyPaired, kept }: PairResult): string {
  const { granted, wallet, networks, currencies, gatewayUrl } = progress;
  invariant(granted !== null, "a result is given only after the grant");
  const rows = [
    ["code", granted.shortCode],
    ["agent", `${granted.agent}, epoch ${granted.ledgerEpoch}`],
    ["gateway", gatewayUrl],
    ...accountsFor(wallet.accounts, "hot", networks).map(
      (hotWallet) => ["pays from", `${hotWallet.id} (${hotWallet.networks.join(", ")})`] as const,
    ),
    [
      "pays",
      currencies.length === 0
        ? "nothing: no currency has a policy"
        : currencies.map(({ id }) => id).join(", "),
    ],
    ["receives at", "addresses the gateway derives from"],
    ...accountsFor(wallet.accounts, "deposits", networks).map(({ id }) => ["", id] as const),
    ["state", state.root],
  ] as const;
  const start = startCommand(process.env.AUTOWITHDRAW_STATE);
  const compare = `ask the payment service to read you its code for this agent and compare it with
the one above; when they differ, someone stands between: do not start crypto.`;
  if (alreadyPaired) {
    const next =
      kept.length > 0
        ? ""
        : `\n${compare}\nwhen they are the same and crypto does not run yet: ${start}\n`;
    return `this server is paired already\n\n${fieldLines(rows)}\n${next}`;
  }
  if (kept.length > 0) {
    return `
paired, but not done: ${kept.join(" and ")} not taken out of config.json

${fieldLines(rows)}

${compare}
next: finish pairing, as the hint says.
`;
  }
  return `
paired

${fieldLines(rows)}

${compare}
disks and their backups may keep old blocks of config.json; if others can read
them, move the funds to a new wallet.
next: send funds to the address above, then run: ${start}
`;
}
