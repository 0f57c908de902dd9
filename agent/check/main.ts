/**
 * The half of `crypto --check` with a network, in a process without a key: settings as JSON on
 * stdin, findings as JSON on stdout. A reload of the units runs the check as root, outside of their
 * sandbox, so this half becomes the courier's user before it asks a node: answers from outside
 * are read with no more rights than the courier has.
 */
import "../../base/no-inspector.ts";
import { readFileSync } from "node:fs";
import type { Egress } from "../../base/egress.ts";
import { useEgress } from "../../base/outgoing/egress.ts";
import type { AgentSettings } from "../config/settings.ts";
import { becomeOwner } from "../files/owner.ts";
import { askChainNodes, judgeChainNodeViews } from "./chains.ts";

interface ChainCheckInput extends Pick<AgentSettings, "chains" | "currencies"> {
  readonly egress: Egress | null;
  readonly courierFolder: string; // its owner is the courier's user
}

const { egress, courierFolder, ...settings } = JSON.parse(
  readFileSync(0, "utf8"),
) as ChainCheckInput;
becomeOwner(courierFolder);
if (egress !== null) useEgress(egress);
process.stdout.write(
  JSON.stringify(judgeChainNodeViews(settings, await askChainNodes(settings), Date.now())),
);
