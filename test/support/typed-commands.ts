/**
 * Commands of both programs as an operator types them: each is a process of its own, with `--json`,
 * and its streams are kept apart.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect } from "vitest";
import { type Code, codes } from "../../base/codes.ts";
import { type Kit, projectRoot } from "../../lab/kit/kit.ts";

/** How a command ended. */
export interface Typed {
  readonly code: number;
  readonly json: unknown; // stdout, null for none
  readonly said: string; // stderr
}

function typed(program: string, words: readonly string[], cwd: string): Promise<Typed> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(projectRoot, program), ...words],
      { cwd, encoding: "utf8" },
      (error, out, said) => {
        const code = error === null ? 0 : Number(error.code ?? -1);
        resolve({ code, json: out === "" ? null : JSON.parse(out), said });
      },
    );
  });
}

/** `node gateway/gateway.js … --json` on the kit's gateway. Rejects if stdout is no JSON. */
export function typeGateway(
  kit: Pick<Kit, "dir" | "gatewayConfigPath">,
  words: readonly string[],
): Promise<Typed> {
  return typed(
    "gateway/gateway.js",
    [...words, "--json", "--config", kit.gatewayConfigPath],
    kit.dir,
  );
}

/** `node autowithdraw.js … --json` on the kit's agent. Rejects if stdout is no JSON. */
export function typeAgent(
  kit: Pick<Kit, "dir" | "stateDir">,
  words: readonly string[],
): Promise<Typed> {
  return typed("autowithdraw.js", [...words, "--json", "--state", kit.stateDir], kit.dir);
}

/** The end of a refused command of the gateway: the code in its answer, the advice on stderr. */
export const refusal = (code: Code) => ({
  code: 1,
  json: expect.objectContaining({ ok: false, code }),
  said: expect.stringContaining(`hint: ${codes[code].advice}`),
});
export const usage = {
  code: 2,
  json: expect.objectContaining({ ok: false, code: "COMMAND_USAGE" }),
  said: expect.stringContaining("hint: see --help"),
};
export const done = (json: unknown) => ({ code: 0, json, said: "" });
