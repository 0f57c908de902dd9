/** `callbacks` of gateway.config.json. Source: docs/api.md, section on running it. */
import { isIP } from "node:net";
import {
  boolean,
  integer,
  list,
  object,
  type Reader,
  shapeFault,
  string,
} from "../../protocol/shape.ts";

export interface CallbackSettings {
  readonly allowLoopback: boolean; // development: plain http and this machine
  // Private addresses or networks that callbacks may reach.
  readonly allowNetworks: readonly string[];
  // From each failed try to the next; after the last try an event is given up.
  readonly retryMs: readonly number[];
  readonly timeoutMs: number; // for one try, including name look-up and answer
}

const minuteSeconds = 60;
const hourSeconds = 3_600;
const weekSeconds = 7 * 24 * hourSeconds;

/** Standard Webhooks, section on the recommended schedule of retries. */
const retrySecondsDefault = [
  ...[
    5,
    5 * minuteSeconds,
    30 * minuteSeconds,
    2 * hourSeconds,
    5 * hourSeconds,
    10 * hourSeconds,
    14 * hourSeconds,
  ],
  ...[20 * hourSeconds, 24 * hourSeconds],
];
const timeoutSecondsDefault = 15;

const network: Reader<string> = (value, path) => {
  const text = string({ min: 2, max: 64 })(value, path);
  const [address = "", bits = isIP(address) === 6 ? "128" : "32", ...more] = text.split("/");
  const fits = /^\d{1,3}$/.test(bits) && Number(bits) <= (isIP(address) === 6 ? 128 : 32);
  if (isIP(address) === 0 || !fits || more.length > 0)
    throw shapeFault(path, "must be an IP address or network");
  return text;
};

export const callbacksShape = object(
  {},
  {
    allowPrivate: boolean(),
    allowNetworks: list(network, 64),
    retrySeconds: list(integer({ min: 1, max: weekSeconds }), 32),
    timeoutSeconds: integer({ min: 1, max: 60 }),
  },
);

/**
 * @param isLocal true if the gateway serves only its own machine
 * @throws AgentError JSON_SHAPE
 */
export function callbackSettings(
  raw: ReturnType<typeof callbacksShape> | undefined,
  isLocal: boolean,
): CallbackSettings {
  const {
    allowPrivate = false,
    allowNetworks = [],
    retrySeconds = retrySecondsDefault,
  } = raw ?? {};
  if (allowPrivate && !isLocal)
    throw shapeFault(
      "config.callbacks.allowPrivate",
      "is for development: listen and publicUrl must be loopback",
    );
  return {
    allowLoopback: allowPrivate,
    allowNetworks,
    retryMs: retrySeconds.map((seconds) => seconds * 1000),
    timeoutMs: (raw?.timeoutSeconds ?? timeoutSecondsDefault) * 1000,
  };
}
