/** The name that this courier gives itself towards the gateway. */
import { version } from "../../protocol/version.ts";

/** @public */
export const software = `autowithdraw/${version}`;
