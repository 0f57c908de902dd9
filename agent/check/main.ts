/**
 * The half of `crypto --check` with a network, in a process without a key: settings as JSON on
 * stdin, findings as JSON on stdout.
 */
import "../../base/no-inspector.ts";
import { readFileSync } from "node:fs";
import type { Egress } from "../../base/egress.ts";
import { useEgress } from "../../outgoing/egress.ts";
import type { AgentSettings } from "../config/settings.ts";
import { judgeChains, lookAtChains } from "./chains.ts";

type Given = Pick<AgentSettings, "chains" | "currencies"> & { readonly egress: Egress | null };

const { egress, ...settings } = JSON.parse(readFileSync(0, "utf8")) as Given;
if (egress !== null) useEgress(egress);
process.stdout.write(JSON.stringify(judgeChains(settings, await lookAtChains(settings), Date.now())));
