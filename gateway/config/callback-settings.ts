/** `callbacks` of gateway.config.json. Source: docs/gateway.md. */
import { settings } from "../../base/settings.ts";
import { networksMax, readNetwork } from "./address-list.ts";

const { boolean, integer, list, object, valueFault } = settings;

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

export const callbacksShape = object(
  {},
  {
    allowPrivate: boolean(),
    allowNetworks: list(readNetwork, networksMax),
    retrySeconds: list(integer({ min: 1, max: weekSeconds }), 32),
    timeoutSeconds: integer({ min: 1, max: 60 }),
  },
);

/**
 * @param isLocal true if the gateway serves only its own machine
 * @throws AgentError CONFIG_VALUE
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
    throw valueFault(
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
