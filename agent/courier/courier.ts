/**
 * The courier: connects to the signer, works while this socket lives, and then connects again
 * without end. Only the chain nodes are kept across runs of the signer. Every outside resource is
 * passed in; `main.ts` is the process around it.
 */
import { AgentError } from "../../base/fault.ts";
import { isOlderConfig } from "../socket/config-read.ts";
import { type SignerSocket, settleAnswer } from "./effects.ts";
import { beginRun } from "./run.ts";
import type { RunOptions } from "./run-state.ts";

const retryMsFirst = 200;
const retryMsMax = 5000;

export interface CourierOptions extends RunOptions {
  readonly agent: string; // agent of link.json; the signer's must be the same
  /** A new connection to the signer's courier socket. */
  readonly connectSigner: () => SignerSocket;
  /** Called at the first `hello` of each run. */
  readonly onReady: () => void;
  /** Called if no repetition can help, so the process must end. */
  readonly onFatal: (fault: AgentError) => void;
  /** Called if the signer has read a newer config.json: the next start of this process reads it. */
  readonly giveWay: () => void;
}

export interface Courier {
  close(): void;
}

/** Starts to connect at once. */
export function createCourier(options: CourierOptions): Courier {
  const { log, onBug } = options;
  let isClosed = false;
  let retry: NodeJS.Timeout | undefined;
  let retryMs = retryMsFirst;
  let run: { end(): void } | null = null;
  let toldAway = false;
  const own = { digest: options.configDigest, readMs: options.configReadMs };
  let signerDigest = "";

  const again = (code: string): void => {
    if (isClosed) return;
    if (!toldAway)
      log.warn({ event: "signer-away", code }, "the signer does not answer; trying again");
    toldAway = true;
    retry = setTimeout(start, retryMs);
    retryMs = Math.min(retryMsMax, retryMs * 2);
  };
  const connect = async (): Promise<void> => {
    const signer = options.connectSigner();
    const hello = await settleAnswer(signer.request("hello", { config: own }));
    if (isClosed || !hello.ok) {
      signer.close();
      if (!hello.ok) again(hello.code);
      return;
    }
    if (hello.agent !== options.agent) {
      signer.close();
      const context = { ledger: hello.agent, link: options.agent };
      return options.onFatal(
        new AgentError(
          "COURIER_OTHER_AGENT",
          "none",
          "link.json and the ledger belong to two agents",
          context,
        ),
      );
    }
    // A signer that read its file again and has the same one as before goes by a file of its own.
    const isNews = hello.config.digest !== signerDigest;
    signerDigest = hello.config.digest;
    if (isNews && isOlderConfig(own, hello.config)) {
      signer.close();
      return options.giveWay();
    }
    const ledger = hello.head.seq;
    log.info(
      { event: "signer-answers", agent: hello.agent, ledger, open: hello.open.length },
      "the signer answers",
    );
    toldAway = false;
    retryMs = retryMsFirst;
    const current = beginRun(options, signer, hello);
    run = current;
    signer.onClose((reason) => {
      current.end();
      run = null;
      again(reason.code);
    });
    options.onReady();
  };
  const start = (): void => {
    connect().catch(onBug);
  };

  start();
  return {
    close() {
      isClosed = true;
      clearTimeout(retry);
      run?.end();
      for (const access of options.chainAccess.values()) access.nodes.close();
    },
  };
}
