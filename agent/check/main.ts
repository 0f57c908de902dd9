/**
 * The half of `crypto --check` with a network, in a process without a key: settings as JSON on
 * stdin, findings as JSON on stdout.
 */
import "../../base/no-inspector.ts";
import { readFileSync } from "node:fs";
import type { AgentSettings } from "../config/settings.ts";
import { judgeChains, lookAtChains } from "./chains.ts";

const settings = JSON.parse(readFileSync(0, "utf8")) as Pick<AgentSettings, "chains" | "currencies">;
process.stdout.write(JSON.stringify(judgeChains(settings, await lookAtChains(settings), Date.now())));
